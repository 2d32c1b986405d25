import { expect } from 'chai'
import { ResourceNotFound } from '../../../src/server/resources/errors.ts'
import type { Descriptor } from '../../../src/server/resources/producer.ts'
import { type Ask, ask, RawSession, startServer, type TestServer } from '../../helpers/mcp.ts'
import { callStateless, stateless, statelessPost } from '../../helpers/stateless.ts'

const serverInfo = 'io.modelcontextprotocol/serverInfo'
const hints = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

/** What the official SDK answers in the same way is in `test/oracle`. */
describe('a stateless request', () => {
  let running: TestServer

  before(async () => {
    running = await startServer({ limits: { pageSize: 2 } }, {}, server =>
      server.resources().addProducer({
        scheme: 'test',
        list: () => [{ uri: 'test://kept', name: 'kept' }],
        read(uri) {
          if (uri === 'test://kept') return [{ uri, text: 'x'.repeat(200_000) }]
          if (uri === 'test://blob') return [{ uri, blob: Buffer.from('bytes') }]
          if (uri === 'test://broken') throw new Error('secret detail')
          throw new ResourceNotFound(uri)
        },
      }),
    )
  })

  const call = (method: string, params: Record<string, unknown> = {}) =>
    callStateless(running.url, method, params)

  it('discovers versions, capabilities and identity', async () => {
    const { status, json, headers } = await call('server/discover')
    expect(status).to.equal(200)
    expect(headers['content-type']).to.equal('application/json')
    const { instructions, _meta, ...rest } = json.result
    expect(rest).to.deep.equal({
      resultType: 'complete',
      supportedVersions: [stateless],
      capabilities: { resources: { subscribe: true, listChanged: true }, completions: {} },
      ttlMs: 10_000,
      cacheScope: 'private',
    })
    expect(instructions).to.be.a('string')
    expect(_meta[serverInfo]).to.include({ name: 'service-cli', title: 'service-cli' })
    expect(_meta[serverInfo].version).to.match(/^\d+\./)
  })

  it('lists the same pages as a session', async () => {
    const session = await RawSession.open(running.url)
    const uris: string[] = []
    let cursor: string | undefined
    do {
      const params = cursor === undefined ? {} : { cursor }
      const { json } = await call('resources/list', params)
      const { result } = await session.call('resources/list', params)
      expect(json.result).to.deep.include({ ...result, ...hints })
      uris.push(...result.resources.map((each: Descriptor) => each.uri))
      cursor = result.nextCursor
    } while (cursor !== undefined)
    expect(uris).to.include.members(['scene://current', 'test://kept'])
  })

  it('reads text and bytes, and says nothing of the inside of a producer that fails', async () => {
    running.server.resources().setScene({ cube: 'ä' })
    const scene = (await call('resources/read', { uri: 'scene://current' })).json.result
    expect(scene).to.include(hints)
    expect(JSON.parse(scene.contents[0].text)).to.deep.equal({ cube: 'ä' })
    const bytes = (await call('resources/read', { uri: 'test://blob' })).json.result
    expect(bytes.contents).to.deep.equal([
      { uri: 'test://blob', mimeType: 'application/octet-stream', blob: 'Ynl0ZXM=' },
    ])
    expect(bytes._meta).to.have.property(serverInfo)
    const failed = await call('resources/read', { uri: 'test://broken' })
    expect(failed.json.error).to.include({ code: -32603 })
    expect(failed.json.error.data).to.include({ reason: 'producer_failed' })
    expect(failed.text).not.to.include('secret detail')
  })

  it('has no id and no code of a session in an early refusal', async () => {
    const { headers, body } = statelessPost('server/discover')
    const refused: [number, Ask][] = [
      [415, { method: 'POST', body, headers: { ...headers, 'Content-Type': 'text/plain' } }],
      [415, { method: 'POST', body, headers: { ...headers, 'Content-Encoding': 'gzip' } }],
      [413, { method: 'POST', body: 'x'.repeat(1024 * 1024 + 1), headers }],
      [403, { method: 'POST', body, headers: { ...headers, Origin: 'https://evil.example' } }],
      [400, { method: 'POST', body, headers: { ...headers, 'Mcp-Method': ['ping', 'ping'] } }],
      [405, { method: 'PUT', body, headers }],
    ]
    for (const [expected, asked] of refused) {
      const { status, json } = await ask(running.url, asked)
      expect([status, json.error.code]).to.deep.equal([expected, -32600])
      expect(json).not.to.have.property('id')
      const older = { ...asked.headers, 'MCP-Protocol-Version': '2025-11-25' }
      const session = await ask(running.url, { ...asked, headers: older })
      const { error, id } = session.json
      expect([session.status, error.code, id]).to.deep.equal([expected, -32000, null])
    }
  })

  it('finds only discovery where resources are off', async () => {
    const bare = await startServer({ enableResources: false })
    const { json } = await callStateless(bare.url, 'server/discover')
    expect(json.result.capabilities).to.deep.equal({})
    expect(json.result).not.to.have.property('instructions')
    const params = { uri: 'scene://current', notifications: {} }
    const methods = ['list', 'read'].map(name => `resources/${name}`)
    for (const method of [...methods, 'completion/complete', 'subscriptions/listen']) {
      const answer = await callStateless(bare.url, method, params)
      expect([answer.status, answer.json.error.code], method).to.deep.equal([404, -32601])
    }
  })
})
