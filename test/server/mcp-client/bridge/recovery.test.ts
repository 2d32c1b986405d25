import { expect } from 'chai'
import { startServer, type TestServer } from '../../../helpers/mcp.ts'
import { BridgeClient, events, handshake, json, result, scripted } from './bench.ts'

const listChanged = 'notifications/resources/list_changed'

describe('the bridge when its server goes away', () => {
  const start = (port = 0) => startServer({ port })

  const portOf = ({ url }: TestServer) => Number(new URL(url).port)

  it('answers meanwhile, comes back by itself, and the client reads the truth', async () => {
    const first = await start()
    const client = new BridgeClient(first.url)
    await client.initialize('2025-06-18')
    await client.call('resources/subscribe', { uri: 'scene://current' })
    await client.call('resources/subscribe', { uri: 'audit://recent' })
    await client.call('resources/unsubscribe', { uri: 'audit://recent' })
    await first.stop()
    await client.until(() => client.log.includes('warn no connection to the server'), 'the loss')
    const refused = await client.call('resources/list')
    expect(refused.error.code).to.equal(-32603)
    expect(refused.error.message).to.contain('connection refused')
    expect(refused.error.message).to.contain('reconnects by itself')

    const second = await start(portOf(first))
    await client.call('ping')
    await client.until(() => client.updates.length > 0, 'the update')
    expect(client.updates).to.deep.equal(['scene://current'])
    expect(client.notified(listChanged)).to.have.length(1)
    second.server.resources().setScene({ run: 2 })
    await client.until(() => client.updates.length === 2, 'the update of the new server')
    const read = await client.call('resources/read', { uri: 'scene://current' })
    expect(JSON.parse(read.result.contents[0].text)).to.deep.equal({ run: 2 })
    expect(client.log).to.deep.equal([
      'info session opened',
      'warn no connection to the server',
      'info the server answers',
    ])
  })

  it('opens another session when the server has ended this one, unnoticed', async () => {
    await start()
    const revoked = new Set<string>()
    const proxy = await scripted((seen, res) => {
      const session = String(seen.headers['mcp-session-id'] ?? '')
      if (seen.method === 'GET') return void events(res)
      if (revoked.has(session)) {
        res.writeHead(404, { 'Content-Type': 'application/json' })
        return void res.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"gone"}}')
      }
      const count = proxy.seen.filter(({ body }) => body?.method === 'initialize').length
      if (!handshake(seen, res, `s${count}`)) json(res, result(seen.body.id, { session }))
    })
    const client = new BridgeClient(proxy.url)
    await client.initialize('2025-03-26')
    await client.call('resources/subscribe', { uri: 'a://b' })
    revoked.add('s1')
    const [one, two] = await Promise.all([client.call('one'), client.call('two')])
    expect([one.result, two.result]).to.deep.equal([{ session: 's2' }, { session: 's2' }])
    await client.until(() => client.updates.length === 1, 'the update')
    const again = proxy.seen.filter(({ body }) => body?.method === 'initialize')
    expect(again).to.have.length(2)
    expect(again[1]?.body.params).to.deep.equal(again[0]?.body.params)
    const renewed = proxy.seen.filter(({ body }) => body?.method === 'resources/subscribe')
    expect(
      renewed.map(({ headers, body }) => [headers['mcp-session-id'], body.params]),
    ).to.deep.equal([
      ['s1', { uri: 'a://b' }],
      ['s2', { uri: 'a://b' }],
    ])
  })

  it('keeps the session when only the connections broke', async () => {
    const streams: (() => void)[] = []
    const endpoint = await scripted((seen, res) => {
      if (seen.method === 'GET') {
        events(res)
        streams.push(() => res.destroy())
      } else if (!handshake(seen, res)) json(res, result(seen.body.id, {}))
    })
    const client = new BridgeClient(endpoint.url)
    await client.initialize()
    await client.call('resources/subscribe', { uri: 'a://b' })
    streams[0]?.()
    await client.until(() => client.updates.length === 1, 'the update after the gap')
    expect(streams).to.have.length(2)
    await client.call('ping')
    const begun = endpoint.seen.filter(({ body }) => body?.method === 'initialize')
    expect(begun).to.have.length(1)
  })

  it('begins before its server does', async () => {
    const probe = await start()
    await probe.stop()
    const client = new BridgeClient(probe.url)
    const early = await client.call('initialize', {}, 'early')
    expect(early.error.message).to.contain('connection refused')
    await start(portOf(probe))
    expect((await client.initialize()).protocolVersion).to.equal('2025-11-25')
    await client.until(() => client.log.length === 3, 'the lines')
    expect(client.log).to.deep.equal([
      'warn no connection to the server',
      'info the server answers',
      'info session opened',
    ])
  })
})
