import { expect } from 'chai'
import type { ServerResponse } from 'node:http'
import { until } from '../../../helpers/until.ts'
import { startServer } from '../../../helpers/mcp.ts'
import { BridgeClient, type Endpoint, events, handshake, json, result, scripted } from './bench.ts'

describe('the end of the bridge', () => {
  /** Answers `wait` when the test says so. */
  async function withWaiting(): Promise<{ endpoint: Endpoint; waiting: ServerResponse[] }> {
    const waiting: ServerResponse[] = []
    const endpoint = await scripted((seen, res) => {
      if (seen.method === 'GET') return void events(res)
      if (handshake(seen, res)) return
      if (seen.body.method === 'wait') waiting.push(res)
      else json(res, result(seen.body.id, {}))
    })
    return { endpoint, waiting }
  }

  const deletes = ({ seen }: Endpoint) => seen.filter(({ method }) => method === 'DELETE').length

  it('comes with the end of stdin, after the answers that are missing', async () => {
    const { endpoint, waiting } = await withWaiting()
    const client = new BridgeClient(endpoint.url)
    await client.initialize()
    client.send({ jsonrpc: '2.0', id: 'late', method: 'wait' })
    client.input.end()
    await until(() => waiting.length === 1, 'the request')
    expect(deletes(endpoint)).to.equal(0)
    for (const res of waiting) json(res, result('late', {}))
    await client.ended
    expect((await client.answer('late')).result).to.deep.equal({})
    expect(deletes(endpoint)).to.equal(1)
  })

  it('comes soon when it is told to stop while it waits for an answer', async () => {
    const { endpoint, waiting } = await withWaiting()
    const client = new BridgeClient(endpoint.url)
    await client.initialize()
    client.send({ jsonrpc: '2.0', id: 'late', method: 'wait' })
    client.input.end()
    await until(() => waiting.length === 1, 'the request')
    client.stop.abort()
    await client.ended
    expect(deletes(endpoint)).to.equal(1)
  })

  it('ends no subscription with an answer', async () => {
    const endpoint = await scripted(({ body }, res) => {
      events(res)({
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': body.id } },
      })
      res.once('close', () => (closed = true))
    })
    let closed = false
    const client = new BridgeClient(endpoint.url)
    const params = client.stateless({ notifications: {} })
    client.send({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params })
    await client.until(() => client.messages.length === 1, 'the acknowledgement')
    await client.end()
    await until(() => closed, 'the end of the stream')
    expect(client.messages).to.have.length(1)
  })

  it('takes a last line that has no end', async () => {
    const server = await startServer()
    const client = new BridgeClient(server.url)
    await client.initialize()
    client.input.end('{"jsonrpc":"2.0","id":"last","method":"ping"}')
    await client.ended
    expect((await client.answer('last')).result).to.deep.equal({})
  })

  it('comes while the server is away', async () => {
    const server = await startServer()
    const client = new BridgeClient(server.url)
    await client.initialize()
    await server.stop()
    await client.until(() => client.log.includes('warn no connection to the server'), 'the loss')
    client.send({ jsonrpc: '2.0', id: 'last', method: 'ping' })
    await client.end()
    expect((await client.answer('last')).error.data.reason).to.equal('server_unreachable')
  })
})
