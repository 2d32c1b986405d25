import { expect } from 'chai'
import {
  ask,
  initializeBody,
  postHeaders,
  RawSession,
  rpc,
  startServer,
  type TestServer,
} from '../../../helpers/mcp.ts'

describe('the session endpoint', () => {
  let running: TestServer
  let session: RawSession

  before(async () => {
    running = await startServer({
      limits: { maxSessions: 50, maxRequestBytes: 10_000, bodyTimeoutMs: 300 },
    })
    session = await RawSession.open(running.url)
  })
  after(() => running.stop())

  const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
    ask(running.url, { method: 'POST', headers: { ...postHeaders, ...headers }, body })

  describe('initialize', () => {
    const versions: [string, string][] = [
      ['2025-11-25', '2025-11-25'],
      ['2025-06-18', '2025-06-18'],
      ['2025-03-26', '2025-03-26'],
      ['2024-11-05', '2024-11-05'],
      ['2024-10-07', '2025-11-25'],
      ['2026-07-28', '2025-11-25'],
      ['never', '2025-11-25'],
      ['', '2025-11-25'],
    ]
    for (const [asked, answered] of versions) {
      it(`answers "${asked}" with ${answered}`, async () => {
        const { status, json, headers } = await post(initializeBody(asked))
        expect(status).to.equal(200)
        expect(json.result.protocolVersion).to.equal(answered)
        expect(json.result.capabilities.resources).to.deep.equal({
          subscribe: true,
          listChanged: true,
        })
        expect(headers['mcp-session-id']).to.match(/^[\x21-\x7e]{22,}$/)
      })
    }

    it('declares completions only where the revision has the capability', async () => {
      const old = await post(initializeBody('2024-11-05'))
      expect(old.json.result.capabilities).not.to.have.property('completions')
      const newer = await post(initializeBody('2025-03-26'))
      expect(newer.json.result.capabilities).to.have.property('completions')
    })

    it('names itself', async () => {
      const { json } = await post(initializeBody())
      expect(json.result.serverInfo)
        .to.include({ name: 'service-cli' })
        .and.to.have.property('version')
    })

    it('gives each session an id of its own', async () => {
      const ids = await Promise.all(
        Array.from(
          { length: 5 },
          async () => (await post(initializeBody())).headers['mcp-session-id'],
        ),
      )
      expect(new Set(ids).size).to.equal(5)
    })

    it('is refused a second time on a live session', async () => {
      const { status, json } = await session.post(initializeBody())
      expect(status).to.equal(400)
      expect(json.error.code).to.equal(-32600)
    })

    const badParams: [string, unknown][] = [
      ['without a version', {}],
      ['with a numeric version', { protocolVersion: 1 }],
      ['with list capabilities', { protocolVersion: '2025-11-25', capabilities: [] }],
      ['with a text clientInfo', { protocolVersion: '2025-11-25', clientInfo: 'x' }],
    ]
    for (const [name, params] of badParams) {
      it(`${name} is −32602 and opens no session`, async () => {
        const { status, json, headers } = await post(rpc('initialize', params))
        expect(status).to.equal(200)
        expect(json.error.code).to.equal(-32602)
        expect(headers).not.to.have.property('mcp-session-id')
      })
    }
  })

  describe('the session header', () => {
    it('missing: 400', async () => {
      const { status, json } = await post(rpc('ping'))
      expect(status).to.equal(400)
      expect(json).to.deep.include({ id: 1 }).and.to.have.nested.property('error.code', -32000)
    })

    it('unknown: 404, for POST, GET and DELETE alike', async () => {
      const headers = { ...postHeaders, 'Mcp-Session-Id': 'nobody' }
      for (const method of ['POST', 'GET', 'DELETE']) {
        const body = method === 'POST' ? { body: rpc('ping') } : {}
        const { status, json } = await ask(running.url, { method, headers, ...body })
        expect(status, method).to.equal(404)
        expect(json.error.code).to.equal(-32001)
        expect(json.id).to.equal(method === 'POST' ? 1 : null)
      }
    })

    const refusals: [why: string, status: number, headers: () => Record<string, string>][] = [
      ['session', 400, () => ({})],
      ['ended session', 404, () => ({ 'Mcp-Session-Id': 'nobody' })],
      [
        'version',
        400,
        () => ({ 'Mcp-Session-Id': session.id, 'MCP-Protocol-Version': '1999-01-01' }),
      ],
      ['Accept header', 406, () => ({ 'Mcp-Session-Id': session.id, Accept: 'text/html' })],
    ]
    const bodies: [what: string, body: string, id: unknown][] = [
      ['a request', rpc('ping', {}, 'mine'), 'mine'],
      ['a notification', JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x' }), null],
      ['a response', JSON.stringify({ jsonrpc: '2.0', id: 'mine', result: {} }), null],
      ['a batch', `[${rpc('ping', {}, 'mine')}]`, null],
    ]
    for (const [why, status, headers] of refusals) {
      for (const [what, body, id] of bodies) {
        it(`${what} refused for its ${why} is answered with the id ${id}`, async () => {
          const answer = await post(body, headers())
          expect(answer.status).to.equal(status)
          expect(answer.json.id).to.equal(id)
        })
      }
    }

    it('sent twice: 400', async () => {
      const answer = await ask(running.url, {
        method: 'POST',
        headers: { ...postHeaders, 'Mcp-Session-Id': [session.id, session.id] },
        body: rpc('ping'),
      })
      expect(answer.status).to.equal(400)
      expect(answer.text).to.include('mcp-session-id')
    })

    it('of an ended session: 404', async () => {
      const ended = await RawSession.open(running.url)
      expect((await ended.delete()).status).to.equal(204)
      expect((await ended.post(rpc('ping'))).status).to.equal(404)
      expect((await ended.delete()).status).to.equal(404)
    })
  })

  describe('the version header', () => {
    it('absent, or any session revision: served', async () => {
      expect((await session.post(rpc('ping'))).status).to.equal(200)
      const { status } = await session.post(rpc('ping'), { 'MCP-Protocol-Version': '2025-06-18' })
      expect(status).to.equal(200)
    })

    it('unsupported: 400 naming the supported ones', async () => {
      const { status, json } = await session.post(rpc('ping'), {
        'MCP-Protocol-Version': '1999-01-01',
      })
      expect(status).to.equal(400)
      expect(json.error.message).to.include('2025-11-25').and.include('2024-11-05')
    })
  })

  describe('HTTP rules', () => {
    it('a notification and a response are 202 with an empty body', async () => {
      for (const body of [
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        { jsonrpc: '2.0', method: 'notifications/unknown' },
        { jsonrpc: '2.0', id: 5, result: {} },
      ]) {
        const { status, text } = await session.post(JSON.stringify(body))
        expect(status).to.equal(202)
        expect(text).to.equal('')
      }
    })

    it('another method is 405 with Allow', async () => {
      const { status, headers } = await ask(running.url, { method: 'PUT' })
      expect(status).to.equal(405)
      expect(headers.allow).to.equal('GET, POST, DELETE')
    })

    it('an Accept without both types is 406', async () => {
      for (const Accept of ['application/json', 'text/event-stream', 'text/html']) {
        expect((await session.post(rpc('ping'), { Accept })).status, Accept).to.equal(406)
      }
      const get = await ask(running.url, {
        headers: { Accept: 'application/json', 'Mcp-Session-Id': session.id },
      })
      expect(get.status).to.equal(406)
    })

    it('Accept: */* satisfies both', async () => {
      expect((await session.post(rpc('ping'), { Accept: '*/*' })).status).to.equal(200)
    })

    it('a body that is not JSON by its type is 415', async () => {
      expect((await session.post(rpc('ping'), { 'Content-Type': 'text/plain' })).status).to.equal(
        415,
      )
    })

    for (const coding of ['gzip', 'br, gzip', 'identity, gzip', 'x']) {
      it(`a body with Content-Encoding "${coding}" is 415, and told what is taken`, async () => {
        const answer = await session.post(rpc('ping'), { 'Content-Encoding': coding })
        expect(answer.status).to.equal(415)
        expect(answer.json.error).to.include({ code: -32000 })
        expect(answer.json.error.message).to.match(/Content-Encoding/)
        expect(answer.headers['accept-encoding']).to.equal('identity')
      })
    }

    for (const coding of ['identity', 'Identity', '']) {
      it(`a body with Content-Encoding "${coding}" is served`, async () => {
        const answer = await session.post(rpc('ping'), { 'Content-Encoding': coding })
        expect(answer.json).to.have.property('result')
      })
    }

    it('answers ping with an empty result and the id as it was sent', async () => {
      for (const id of [0, 7, 'text', 'ünïcode "quoted"']) {
        const { json, headers } = await session.post(rpc('ping', undefined, id))
        expect(json).to.deep.equal({ jsonrpc: '2.0', id, result: {} })
        expect(headers['content-type']).to.equal('application/json')
      }
    })

    it('an unknown method is −32601 in a 200', async () => {
      for (const method of ['tools/call', 'prompts/list', 'logging/setLevel', 'toString']) {
        const { status, json } = await session.post(rpc(method))
        expect(status, method).to.equal(200)
        expect(json.error.code, method).to.equal(-32601)
      }
    })

    it('has an empty list of tools for clients that ask although none are offered', async () => {
      const { json } = await session.post(rpc('tools/list'))
      expect(json.result).to.deep.equal({ tools: [] })
    })
  })

  describe('bad input', () => {
    const bodies: [string, string | Buffer, number, number][] = [
      ['broken JSON', '{', 400, -32700],
      ['an empty body', '', 400, -32700],
      ['NaN', '{"jsonrpc":"2.0","id":NaN,"method":"ping"}', 400, -32700],
      ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400, -32700],
      ['5,000-deep nesting', '['.repeat(4900) + ']'.repeat(4900), 400, -32600],
      ['a number', '1', 400, -32600],
      ['a null id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600],
      ['text params', '{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 400, -32600],
      ['an empty batch', '[]', 400, -32600],
      ['a batch, which this revision has not', `[${rpc('ping')}]`, 400, -32600],
    ]
    for (const [name, body, status, code] of bodies) {
      it(`${name}: ${status} and ${code}, and the session lives`, async () => {
        const answer = await ask(running.url, { method: 'POST', headers: session.headers, body })
        expect(answer.status).to.equal(status)
        expect(answer.json.error.code).to.equal(code)
        expect((await session.post(rpc('ping'))).status).to.equal(200)
      })
    }

    it('a body over the limit: 413, declared or not', async () => {
      const body = rpc('ping', { filler: 'x'.repeat(20_000) })
      expect((await post(body, { 'Mcp-Session-Id': session.id })).status).to.equal(413)
      const chunked = { 'Mcp-Session-Id': session.id, 'Transfer-Encoding': 'chunked' }
      expect((await post(body, chunked)).status).to.equal(413)
      expect((await session.post(rpc('ping'))).status).to.equal(200)
    })
  })

  describe('Origin and Host', () => {
    it('foreign: 403 with a JSON-RPC error naming the flag', async () => {
      for (const headers of [{ Origin: 'https://evil.example' }, { Host: 'evil.example' }]) {
        const { status, json } = await post(initializeBody(), headers)
        expect(status).to.equal(403)
        expect(json.id).to.equal(null)
        expect(json.error.message).to.match(/--allowed-(origin|host)/)
      }
    })

    it('of this machine: served, without CORS headers', async () => {
      const { status, headers } = await post(initializeBody(), { Origin: 'http://localhost:1234' })
      expect(status).to.equal(200)
      expect(headers).not.to.have.property('access-control-allow-origin')
    })
  })

  it('answers the well-known paths and unknown ones with clean JSON', async () => {
    for (const path of [
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-client-metadata',
      '/',
      '/register',
    ]) {
      const { status, json } = await ask(running.base + path)
      expect(status, path).to.equal(404)
      expect(json).to.include({ status: 404 })
    }
    expect((await ask(`${running.base}/healthz`)).json).to.deep.equal({ status: 'ok' })
    expect((await ask(`${running.base}/readyz`)).status).to.equal(200)
  })
})
