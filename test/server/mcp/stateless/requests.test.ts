import { expect } from 'chai'
import type { Descriptor } from '../../../../src/server/resources/producer.ts'
import { ResourceNotFound } from '../../../../src/server/resources/errors.ts'
import { ask, RawSession, rpc, startServer, type TestServer } from '../../../helpers/mcp.ts'
import {
  callStateless,
  stateless,
  statelessHeaders,
  statelessRequest,
} from '../../../helpers/stateless.ts'

const serverInfo = 'io.modelcontextprotocol/serverInfo'
const listed: readonly Descriptor[] = Object.freeze([
  Object.freeze({ uri: 'test://kept', name: 'kept' }),
])
const kept = Object.freeze([Object.freeze({ uri: 'test://kept', text: 'x'.repeat(200_000) })])
const blob = Buffer.from('bytes')

describe('a stateless request', () => {
  let running: TestServer

  before(async () => {
    running = await startServer({ limits: { pageSize: 2 } }, {}, server =>
      server.resources().addProducer({
        scheme: 'test',
        list: () => listed,
        read(uri) {
          if (uri === 'test://kept') return kept
          if (uri === 'test://blob') return [{ uri, blob }]
          if (uri === 'test://broken') throw new Error('secret detail')
          if (uri === 'test://%C3%A4') return [{ uri, text: 'ä' }]
          throw new ResourceNotFound(uri)
        },
      }),
    )
  })
  after(() => running.stop())

  const call = (method: string, params: Record<string, unknown> = {}, id: unknown = 1) =>
    callStateless(running.url, method, params, id)
  const post = (body: unknown, headers: Record<string, string>) =>
    ask(running.url, { method: 'POST', headers, body: JSON.stringify(body) })

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

  const hints = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

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

  it('lists templates and completes their variables', async () => {
    const templates = (await call('resources/templates/list')).json.result
    expect(templates).to.include(hints)
    expect(templates.resourceTemplates.map((each: any) => each.uriTemplate)).to.include(
      'audit://recent{?limit}',
    )
    const params = {
      ref: { type: 'ref/resource', uri: 'events://session/{session_id}{?cursor,limit,drain}' },
      argument: { name: 'session_id', value: '' },
    }
    const { result } = (await call('completion/complete', params)).json
    expect(result.completion.values).to.deep.equal([])
    expect(result).to.include({ resultType: 'complete' })
    expect(result).not.to.have.any.keys('ttlMs', 'cacheScope')
  })

  it('reads text and bytes', async () => {
    running.server.resources().setScene({ cube: 'ä' })
    const scene = (await call('resources/read', { uri: 'scene://current' })).json.result
    expect(scene).to.include(hints)
    expect(JSON.parse(scene.contents[0].text)).to.deep.equal({ cube: 'ä' })
    const bytes = (await call('resources/read', { uri: 'test://blob' })).json.result
    expect(bytes.contents).to.deep.equal([
      { uri: 'test://blob', mimeType: 'application/octet-stream', blob: blob.toString('base64') },
    ])
    expect(bytes._meta).to.have.property(serverInfo)
  })

  it('accepts a base64 Mcp-Name', async () => {
    const uri = 'test://%C3%A4'
    const headers = {
      ...statelessHeaders('resources/read'),
      'Mcp-Name': `=?base64?${Buffer.from(uri).toString('base64')}?=`,
    }
    const { json } = await post(statelessRequest('resources/read', { uri }), headers)
    expect(json.result.contents[0].text).to.equal('ä')
  })

  for (const id of ['a', '', 0, -1, 2 ** 53 - 1, '1', 'ä"\\\n']) {
    it(`echoes the id ${JSON.stringify(id)}, also in an error`, async () => {
      expect((await call('server/discover', {}, id)).json.id).to.equal(id)
      expect((await call('nothing/here', {}, id)).json.id).to.equal(id)
    })
  }

  const inBand: [title: string, params: Record<string, unknown>, code: number, data: unknown][] = [
    ['an unknown resource', { uri: 'test://no' }, -32602, { uri: 'test://no' }],
    ['an unknown scheme', { uri: 'no://such' }, -32602, { uri: 'no://such' }],
    ['a disabled scheme', { uri: `artefact://sha256/${'0'.repeat(64)}` }, -32602, undefined],
    ['a missing uri', {}, -32602, undefined],
    ['a numeric uri', { uri: 1 }, -32602, undefined],
    ['a malformed uri', { uri: 'no uri' }, -32602, undefined],
    ['a producer that fails', { uri: 'test://broken' }, -32603, { reason: 'producer_failed' }],
  ]
  for (const [title, params, code, data] of inBand) {
    it(`returns 200 and ${code} for ${title}`, async () => {
      const { status, json, text } = await call('resources/read', params)
      expect([status, json.error.code, json.id]).to.deep.equal([200, code, 1])
      if (data !== undefined) expect(json.error.data).to.deep.include(data)
      if ('uri' in params && code === -32602 && json.error.data) {
        expect(json.error.data.uri).to.equal(params.uri)
      }
      expect(text).not.to.include('secret detail')
    })
  }

  it('returns −32602 for an invalid cursor', async () => {
    const { status, json } = await call('resources/list', { cursor: 'nonsense' })
    expect([status, json.error.code]).to.deep.equal([200, -32602])
  })

  const removed = ['initialize', 'ping', 'resources/subscribe', 'resources/unsubscribe']
  for (const method of [...removed, 'logging/setLevel', 'tools/call', 'prompts/list', 'toString']) {
    it(`returns 404 and −32601 to ${method}`, async () => {
      const { status, json } = await call(method)
      expect([status, json.error.code, json.id]).to.deep.equal([404, -32601, 1])
    })
  }

  it('returns an empty list of tools', async () => {
    const { status, json } = await call('tools/list')
    expect(status).to.equal(200)
    expect(json.result).to.deep.include({ tools: [], resultType: 'complete', ttlMs: 0 })
  })

  it('leaves the session transport unchanged', async () => {
    const session = await RawSession.open(running.url)
    const { result } = await session.call('resources/read', { uri: 'test://kept' })
    expect(result).to.have.all.keys('contents')
    const { json } = await call('resources/read', { uri: 'test://kept' })
    expect(json.result.contents).to.deep.equal(result.contents)
    expect((await session.call('server/discover')).error.code).to.equal(-32601)
    const claimed = await session.post(rpc('ping'), { 'MCP-Protocol-Version': stateless })
    expect([claimed.status, claimed.json.error.code]).to.deep.equal([400, -32602])
  })

  it('offers only discovery with --no-resources', async () => {
    const bare = await startServer({ enableResources: false })
    try {
      const { json } = await callStateless(bare.url, 'server/discover')
      expect(json.result.capabilities).to.deep.equal({})
      expect(json.result).not.to.have.property('instructions')
      for (const method of ['resources/list', 'resources/read', 'completion/complete']) {
        const { status, json } = await callStateless(bare.url, method, { uri: 'scene://current' })
        expect([status, json.error.code]).to.deep.equal([404, -32601])
      }
    } finally {
      await bare.stop()
    }
  })
})
