import { expect } from 'chai'
import type { Descriptor } from '../../../../src/server/resources/producer.ts'
import { ResourceNotFound } from '../../../../src/server/resources/errors.ts'
import {
  type Ask,
  ask,
  postHeaders,
  RawSession,
  rpc,
  startServer,
  type TestServer,
} from '../../../helpers/mcp.ts'
import {
  callStateless,
  stateless,
  statelessHeaders,
  statelessMeta,
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

  it('lists page by page, with the same resources as a session sees', async () => {
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

  it('reads what only fits a header in base64', async () => {
    const uri = 'test://%C3%A4'
    const headers = {
      ...statelessHeaders('resources/read'),
      'Mcp-Name': `=?base64?${Buffer.from(uri).toString('base64')}?=`,
    }
    const { json } = await post(statelessRequest('resources/read', { uri }), headers)
    expect(json.result.contents[0].text).to.equal('ä')
  })

  for (const id of ['a', '', 0, -1, 2 ** 53 - 1, '1', 'ä"\\\n']) {
    it(`echoes the id ${JSON.stringify(id)}, on an error too`, async () => {
      expect((await call('server/discover', {}, id)).json.id).to.equal(id)
      expect((await call('nothing/here', {}, id)).json.id).to.equal(id)
    })
  }

  const inBand: [title: string, params: Record<string, unknown>, code: number, data: unknown][] = [
    ['an unknown resource', { uri: 'test://no' }, -32602, { uri: 'test://no' }],
    ['an unknown scheme', { uri: 'no://such' }, -32602, { uri: 'no://such' }],
    [
      'a scheme that is switched off',
      { uri: `artefact://sha256/${'0'.repeat(64)}` },
      -32602,
      undefined,
    ],
    ['a missing uri', {}, -32602, undefined],
    ['a uri that is no text', { uri: 1 }, -32602, undefined],
    ['a malformed uri', { uri: 'no uri' }, -32602, undefined],
    ['a producer that fails', { uri: 'test://broken' }, -32603, { reason: 'producer_failed' }],
  ]
  for (const [title, params, code, data] of inBand) {
    it(`answers 200 and ${code} to ${title}`, async () => {
      const { status, json, text } = await call('resources/read', params)
      expect([status, json.error.code, json.id]).to.deep.equal([200, code, 1])
      if (data !== undefined) expect(json.error.data).to.deep.include(data)
      if ('uri' in params && code === -32602 && json.error.data) {
        expect(json.error.data.uri).to.equal(params.uri)
      }
      expect(text).not.to.include('secret detail')
    })
  }

  it('answers −32602 to a bad cursor', async () => {
    const { status, json } = await call('resources/list', { cursor: 'nonsense' })
    expect([status, json.error.code]).to.deep.equal([200, -32602])
  })

  const removed = ['initialize', 'ping', 'resources/subscribe', 'resources/unsubscribe']
  for (const method of [...removed, 'logging/setLevel', 'tools/call', 'prompts/list', 'toString']) {
    it(`answers 404 and −32601 to ${method}`, async () => {
      const { status, json } = await call(method)
      expect([status, json.error.code, json.id]).to.deep.equal([404, -32601, 1])
    })
  }

  it('answers an empty list of tools, as sessions do', async () => {
    const { status, json } = await call('tools/list')
    expect(status).to.equal(200)
    expect(json.result).to.deep.include({ tools: [], resultType: 'complete', ttlMs: 0 })
  })

  it('answers 400 and the reason to half an envelope', async () => {
    const request = statelessRequest('resources/list')
    const noHeaders = await post(request, postHeaders)
    expect([noHeaders.status, noHeaders.json.error.code, noHeaders.json.id]).to.deep.equal([
      400, -32020, 1,
    ])
    const headers = statelessHeaders('resources/list')
    const noClaim = await post({ ...request, params: {} }, headers)
    expect([noClaim.status, noClaim.json.error.code, noClaim.json.id]).to.deep.equal([
      400, -32602, 1,
    ])
    const params = { _meta: statelessMeta({ protocolVersion: '2099-01-01' }) }
    const later = await post(
      { ...request, params },
      { ...headers, 'MCP-Protocol-Version': '2099-01-01' },
    )
    expect([later.status, later.json.error.code]).to.deep.equal([400, -32022])
    expect(later.json.error.data).to.deep.equal({ supported: [stateless], requested: '2099-01-01' })
  })

  it('answers 400 to a batch, and to what is no message, without an id', async () => {
    const headers = statelessHeaders('resources/list')
    for (const body of [[statelessRequest('resources/list')], [], { jsonrpc: '2.0' }]) {
      const { status, json } = await post(body, headers)
      expect([status, json.error.code]).to.deep.equal([400, -32600])
      expect(json).not.to.have.property('id')
    }
  })

  it('is served without Accept, and not without its Content-Type', async () => {
    const body = JSON.stringify(statelessRequest('server/discover'))
    const { Accept: _, ...headers } = statelessHeaders('server/discover')
    expect((await ask(running.url, { method: 'POST', headers, body })).status).to.equal(200)
    const text = { ...headers, 'Content-Type': 'text/plain' }
    expect((await ask(running.url, { method: 'POST', headers: text, body })).status).to.equal(415)
    const other = { ...headers, Accept: 'text/html' }
    expect((await ask(running.url, { method: 'POST', headers: other, body })).status).to.equal(200)
  })

  it('has neither an id nor a code of old in what is refused before it is read', async () => {
    const headers = statelessHeaders('server/discover')
    const body = JSON.stringify(statelessRequest('server/discover'))
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
      const before = await ask(running.url, { ...asked, headers: older })
      expect([before.status, before.json.error.code, before.json.id]).to.deep.equal([
        expected,
        -32000,
        null,
      ])
    }
  })

  it('reads no session id and makes none', async () => {
    for (const id of ['nobody', (await RawSession.open(running.url)).id]) {
      const headers = {
        ...statelessHeaders('server/discover'),
        'Mcp-Session-Id': id,
        'Last-Event-ID': '7',
      }
      const answer = await post(statelessRequest('server/discover'), headers)
      expect(answer.status).to.equal(200)
      expect(answer.headers).not.to.have.property('mcp-session-id')
    }
  })

  it('takes any notification', async () => {
    for (const method of ['notifications/cancelled', 'notifications/whatever']) {
      const body = { jsonrpc: '2.0', method, params: { requestId: 1 } }
      const { status, text } = await post(body, statelessHeaders(method))
      expect([status, text]).to.deep.equal([202, ''])
    }
    const body = { jsonrpc: '2.0', method: 'notifications/cancelled' }
    const refused = await post(body, statelessHeaders('ping'))
    expect([refused.status, refused.json.error.code]).to.deep.equal([400, -32020])
    expect(refused.json).not.to.have.property('id')
  })

  it('refuses a header that is there twice', async () => {
    for (const name of ['Mcp-Method', 'Mcp-Name', 'MCP-Protocol-Version']) {
      const headers: Record<string, string | string[]> = statelessHeaders('resources/read', {
        uri: 'scene://current',
      })
      headers[name] = [String(headers[name]), String(headers[name])]
      const body = JSON.stringify(statelessRequest('resources/read', { uri: 'scene://current' }))
      const { status, json } = await ask(running.url, { method: 'POST', headers, body })
      expect([status, json.error.message]).to.deep.equal([
        400,
        `header "${name.toLowerCase()}" was sent more than once`,
      ])
    }
  })

  it('leaves the session eras as they are beside it', async () => {
    const session = await RawSession.open(running.url)
    const { result } = await session.call('resources/read', { uri: 'test://kept' })
    expect(result).to.have.all.keys('contents')
    const { json } = await call('resources/read', { uri: 'test://kept' })
    expect(json.result.contents).to.deep.equal(result.contents)
    expect((await session.call('server/discover')).error.code).to.equal(-32601)
    const claimed = await session.post(rpc('ping'), { 'MCP-Protocol-Version': stateless })
    expect([claimed.status, claimed.json.error.code]).to.deep.equal([400, -32602])
  })

  it('has only discovery left when resources are off', async () => {
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
