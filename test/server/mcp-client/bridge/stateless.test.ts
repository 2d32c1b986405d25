import { expect } from 'chai'
import type { ServerResponse } from 'node:http'
import { BridgeClient, events, json, result, scripted } from './bench.ts'

const subscription = 'io.modelcontextprotocol/subscriptionId'

describe('the bridge at 2026-07-28', () => {
  /** An endpoint with listen streams, kept by the id of their request. */
  async function listening(port = 0) {
    const streams = new Map<string, { res: ServerResponse; send(message: object): void }>()
    const endpoint = await scripted(({ body }, res) => {
      if (body.method !== 'subscriptions/listen') return json(res, result(body.id, {}))
      const tell = events(res)
      const _meta = { [subscription]: body.id }
      const send = (message: any) =>
        tell({ jsonrpc: '2.0', ...message, params: { ...message.params, _meta } })
      send({
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: body.params.notifications },
      })
      streams.set(body.id, { res, send })
    }, port)
    return { endpoint, streams }
  }

  const filter = { resourcesListChanged: true, resourceSubscriptions: ['scene://current'] }
  const update = { method: 'notifications/resources/updated', params: { uri: 'scene://current' } }
  const acknowledged = 'notifications/subscriptions/acknowledged'

  /** Sends subscriptions with these ids; resolves when all are acknowledged. */
  async function subscribe(client: BridgeClient, ...ids: string[]): Promise<void> {
    const before = client.notified(acknowledged).length
    const params = client.stateless({ notifications: filter })
    for (const id of ids) {
      client.send({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params })
    }
    const all = () => client.notified(acknowledged).length === before + ids.length
    await client.until(all, 'acknowledgements')
  }

  it('repeats in headers what the body says, and sends no session', async () => {
    const endpoint = await scripted(({ body }, res) => json(res, result(body.id, {})))
    const client = new BridgeClient(endpoint.url)
    await client.call('resources/read', client.stateless({ uri: 'a://é' }))
    expect(endpoint.seen[0]?.headers).to.include({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'resources/read',
      'mcp-name': '=?base64?YTovL8Op?=',
    })
    await client.end()
    expect(endpoint.seen).to.have.length(1)
  })

  it('passes on errors that ride on other statuses, with their data', async () => {
    const data = { supported: ['2026-07-28'], requested: '2030-01-01' }
    const error = { code: -32022, message: 'unsupported', data }
    const endpoint = await scripted(({ body }, res) => {
      res.writeHead(400, { 'Content-Type': 'application/json' })
      res.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, error }))
    })
    const client = new BridgeClient(endpoint.url)
    const answer = await client.call('server/discover', client.stateless())
    expect(answer.error).to.deep.equal(error)
  })

  it('passes on a subscription while other requests go on', async () => {
    const { endpoint, streams } = await listening()
    const client = new BridgeClient(endpoint.url)
    await subscribe(client, 'l1', 'l2')
    await client.call('ping', client.stateless())
    streams.get('l2')?.send(update)
    streams.get('l1')?.send(update)
    await client.until(() => client.updates.length === 2, 'updates')
    const ids = client.notified(update.method).map(({ params }) => params._meta[subscription])
    expect(ids).to.have.members(['l1', 'l2'])
  })

  it('ends a subscription that is cancelled, without a further message', async () => {
    const { endpoint, streams } = await listening()
    const client = new BridgeClient(endpoint.url)
    await subscribe(client, 'l1')
    const stream = streams.get('l1')
    const closed = new Promise(resolve => stream?.res.once('close', resolve))
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'l1' } })
    await closed
    stream?.send(update)
    await client.call('ping', client.stateless())
    expect(client.messages.filter(({ id }) => id === 'l1')).to.deep.equal([])
    expect(client.updates).to.deep.equal([])
    const posted = endpoint.seen.map(({ body }) => body.method)
    expect(posted).to.deep.equal(['subscriptions/listen', 'ping'])
    // The id is free again.
    await subscribe(client, 'l1')
  })

  /** A subscription whose server goes away by `leave` and comes back on the same port. */
  async function overRestart(leave: (res: ServerResponse) => void) {
    const first = await listening()
    const client = new BridgeClient(first.endpoint.url)
    await subscribe(client, 'l1')
    const res = first.streams.get('l1')?.res
    const closed = first.endpoint.close()
    if (res !== undefined) leave(res)
    await closed
    await client.until(() => client.log.includes('warn no connection to the server'), 'the loss')
    const refused = await client.call('ping', client.stateless())
    const second = await listening(first.endpoint.port)
    await client.call('ping', client.stateless())
    await client.until(() => client.updates.length > 0, 'the update')
    return { client, refused, second }
  }

  const leaves: [how: string, leave: (res: ServerResponse) => void][] = [
    ['is killed', res => res.destroy()],
    [
      'says farewell',
      res => {
        const last = result('l1', { resultType: 'complete', _meta: { [subscription]: 'l1' } })
        res.end(`data: ${JSON.stringify(last)}\n\n`)
      },
    ],
  ]
  for (const [how, leave] of leaves) {
    it(`opens a subscription again after the server ${how}, and tells the client to look`, async () => {
      const { client, refused, second } = await overRestart(leave)
      expect(refused.error.code).to.equal(-32603)
      expect(refused.error.data.reason).to.equal('server_unreachable')
      const _meta = { [subscription]: 'l1' }
      const [changed] = client.notified('notifications/resources/list_changed')
      expect(changed.params).to.deep.equal({ _meta })
      const [told] = client.notified(update.method)
      expect(told.params).to.deep.equal({ uri: 'scene://current', _meta })
      second.streams.get('l1')?.send(update)
      await client.until(() => client.updates.length === 2, 'the update of the new server')
      expect(client.notified(acknowledged)).to.have.length(1)
      expect(client.messages.filter(({ id }) => id === 'l1')).to.deep.equal([])
    })
  }

  it('opens a stream that was cut again, and leaves the rest alone', async () => {
    const { endpoint, streams } = await listening()
    const client = new BridgeClient(endpoint.url)
    await subscribe(client, 'l1', 'l2')
    streams.get('l1')?.res.destroy()
    await client.until(() => client.updates.length === 1, 'the update after the gap')
    const [told] = client.notified(update.method)
    expect(told.params._meta[subscription]).to.equal('l1')
    expect(client.log).to.deep.equal([])
    expect(endpoint.seen).to.have.length(3)
  })

  it('waits for what a server that has just started does not have yet', async () => {
    const first = await listening()
    const client = new BridgeClient(first.endpoint.url)
    await subscribe(client, 'l1')
    await first.endpoint.close()
    let refusals = 0
    const endpoint = await scripted(({ body }, res) => {
      if (body.method === 'subscriptions/listen' && refusals++ < 2) {
        const error = { code: -32602, message: 'no such scheme' }
        return json(res, { jsonrpc: '2.0', id: body.id, error })
      }
      const send = events(res)
      const _meta = { [subscription]: body.id }
      const { notifications } = body.params
      send({ jsonrpc: '2.0', method: acknowledged, params: { notifications, _meta } })
    }, first.endpoint.port)
    await client.until(() => client.updates.length === 1, 'the update')
    expect(refusals).to.equal(3)
    expect(client.messages.filter(({ id }) => id === 'l1')).to.deep.equal([])
    expect(endpoint.seen).to.have.length(3)
  })
})
