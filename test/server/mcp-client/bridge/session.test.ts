import { expect } from 'chai'
import { startServer, type TestServer } from '../../../helpers/mcp.ts'
import { BridgeClient, events, handshake, json, result, scripted } from './bench.ts'

describe('the bridge in a session', () => {
  describe('with the server of this program', () => {
    let server: TestServer
    before(async () => (server = await startServer({ enableArtefactResources: false })))

    for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
      it(`lists, reads, subscribes and is told of changes at ${revision}`, async () => {
        const client = new BridgeClient(server.url)
        const { protocolVersion, capabilities } = await client.initialize(revision)
        expect(protocolVersion).to.equal(revision)
        expect(capabilities.resources).to.deep.equal({ subscribe: true, listChanged: true })
        const listed = await client.call('resources/list')
        expect(listed.result.resources.map(({ uri }: any) => uri)).to.include('scene://current')
        expect(
          await client.call('resources/subscribe', { uri: 'scene://current' }),
        ).to.deep.include({ result: {} })
        server.server.resources().setScene({ revision })
        await client.until(() => client.updates.includes('scene://current'), 'the update')
        const read = await client.call('resources/read', { uri: 'scene://current' })
        expect(JSON.parse(read.result.contents[0].text)).to.deep.equal({ revision })
      })
    }

    it('passes on what is said before the answer to initialize, behind it', async () => {
      const client = new BridgeClient(server.url)
      const lines = [
        { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } },
        { method: 'notifications/initialized' },
        { id: 2, method: 'resources/subscribe', params: { uri: 'scene://current' } },
        { id: 3, method: 'resources/read', params: { uri: 'scene://current' } },
      ]
      client.write(lines.map(line => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`).join(''))
      expect((await client.answer(2)).result).to.deep.equal({})
      expect((await client.answer(3)).result.contents).to.have.length(1)
    })

    it('passes on a batch, and the answers to it', async () => {
      const client = new BridgeClient(server.url)
      await client.initialize('2025-03-26')
      const batch = [
        { jsonrpc: '2.0', id: 'a', method: 'ping' },
        {
          jsonrpc: '2.0',
          id: 'b',
          method: 'resources/subscribe',
          params: { uri: 'audit://recent' },
        },
        { jsonrpc: '2.0', method: 'notifications/progress' },
      ]
      client.write(`${JSON.stringify(batch)}\n`)
      const isBatch = (message: unknown) => Array.isArray(message)
      await client.until(() => client.messages.some(isBatch), 'the answer')
      expect(client.messages.find(isBatch)).to.deep.equal([
        { jsonrpc: '2.0', id: 'a', result: {} },
        { jsonrpc: '2.0', id: 'b', result: {} },
      ])
    })

    it('answers each request of a batch that the server refuses', async () => {
      const client = new BridgeClient(server.url)
      await client.initialize('2025-11-25')
      client.write(
        '[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]\n',
      )
      for (const id of ['a', 'b']) {
        expect((await client.answer(id)).error.message).to.contain('has no batches')
      }
    })

    it('gives an error without an id the id of its request', async () => {
      const client = new BridgeClient(server.url)
      const answer = await client.call('resources/list', {}, 'early')
      expect(answer.error).to.deep.include({ code: -32000 })
      expect(answer.error.message).to.contain('initialize first')
    })
  })

  it('sends the session and its revision with everything after initialize, and ends it', async () => {
    const endpoint = await scripted((seen, res) => {
      if (seen.method === 'GET') return void events(res)
      if (!handshake(seen, res)) json(res, result(seen.body.id, {}))
    })
    const client = new BridgeClient(endpoint.url)
    await client.initialize('2025-06-18')
    await client.call('ping')
    await client.end()
    const session = { 'mcp-session-id': 's1', 'mcp-protocol-version': '2025-06-18' }
    const [first, ...others] = endpoint.seen
    expect(first?.headers).to.not.have.any.keys('mcp-session-id', 'mcp-protocol-version')
    for (const { headers } of others) expect(headers).to.include(session)
    const asked = endpoint.seen.map(({ method, body }) => body?.method ?? method)
    const order = ['initialize', 'notifications/initialized', 'GET', 'ping', 'DELETE']
    expect(asked).to.have.members(order)
    expect([...asked.slice(0, 2), asked.at(-1)]).to.deep.equal([...order.slice(0, 2), 'DELETE'])
    for (const { headers, method } of endpoint.seen) {
      if (method !== 'POST') continue
      expect(headers.accept).to.equal('application/json, text/event-stream')
      expect(headers['content-type']).to.equal('application/json')
    }
  })

  it('writes pretty JSON on one line', async () => {
    const endpoint = await scripted(({ body }, res) => {
      json(res, JSON.stringify(result(body.id, { text: 'a\nb' }), null, 2).replaceAll('\n', '\r\n'))
    })
    const client = new BridgeClient(endpoint.url)
    expect((await client.call('ping')).result).to.deep.equal({ text: 'a\nb' })
    expect(client.lines).to.have.length(1)
  })

  it('passes on what a stream of an answer says before it, and asks of the client', async () => {
    const endpoint = await scripted((seen, res) => {
      if (handshake(seen, res)) return
      if (seen.body.method === undefined) return void res.writeHead(202).end()
      const send = events(res)
      send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } })
      send({ jsonrpc: '2.0', id: 'from-server', method: 'roots/list' })
      send(result(seen.body.id, { done: true }))
      res.end()
    })
    const client = new BridgeClient(endpoint.url)
    await client.initialize()
    expect((await client.call('tools/call', { name: 'x' })).result).to.deep.equal({ done: true })
    expect(client.notified('notifications/progress')).to.have.length(1)
    expect(client.notified('roots/list')).to.have.length(1)
    client.send({ jsonrpc: '2.0', id: 'from-server', result: { roots: [] } })
    const answers = () => endpoint.seen.filter(({ body }) => body?.id === 'from-server')
    await client.end()
    expect(answers()).to.have.length(1)
  })

  it('drops responses with an unknown id and invalid messages', async () => {
    const endpoint = await scripted(({ body, method }, res) => {
      if (method === 'DELETE') return void res.writeHead(204).end()
      const send = events(res)
      send(result('another', { secret: 1 }))
      send('text')
      res.write('data: {"jsonrpc":\n\n')
      send(result(body.id, {}))
      res.end()
    })
    const client = new BridgeClient(endpoint.url)
    await client.call('ping')
    expect(client.messages).to.deep.equal([result(1, {})])
  })

  it('ends a request that is cancelled, tells the server, and says nothing of it', async () => {
    const endpoint = await scripted((seen, res) => {
      if (seen.body?.method === 'slow') {
        const send = events(res)
        res.once('close', () => client.wake())
        send({ jsonrpc: '2.0', method: 'notifications/progress', params: {} })
      } else if (!handshake(seen, res)) json(res, result(seen.body.id, {}))
    })
    const client = new BridgeClient(endpoint.url)
    await client.initialize()
    client.send({ jsonrpc: '2.0', id: 'slow', method: 'slow' })
    await client.until(() => client.notified('notifications/progress').length === 1)
    client.send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'slow' },
    })
    await client.call('ping')
    expect(client.messages.filter(({ id }) => id === 'slow')).to.deep.equal([])
    const told = () =>
      endpoint.seen.filter(({ body }) => body?.method === 'notifications/cancelled')
    await client.end()
    expect(told()).to.have.length(1)
  })

  it('begins anew when the client does', async () => {
    let sessions = 0
    const endpoint = await scripted((seen, res) => {
      if (handshake(seen, res, `s${sessions}`))
        sessions += Number(seen.body?.method === 'initialize')
      else json(res, result(seen.body.id, {}))
    })
    const client = new BridgeClient(endpoint.url)
    await client.initialize()
    client.messages.length = 0
    await client.initialize()
    await client.call('ping')
    const last = endpoint.seen.findLast(({ body }) => body?.method === 'ping')
    expect(last?.headers['mcp-session-id']).to.equal('s1')
    const begun = endpoint.seen.filter(({ body }) => body?.method === 'initialize')
    for (const { headers } of begun) expect(headers).to.not.have.key('mcp-session-id')
  })
})
