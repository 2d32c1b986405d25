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

  describe('the session header', () => {
    it('returns 400 when it is missing', async () => {
      const { status, json } = await post(rpc('ping'))
      expect(status).to.equal(400)
      expect(json).to.deep.include({ id: 1 }).and.to.have.nested.property('error.code', -32000)
    })

    it('returns 404 for an unknown session to POST, GET and DELETE', async () => {
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
        it(`returns the id ${id} to ${what} refused for its ${why}`, async () => {
          const answer = await post(body, headers())
          expect(answer.status).to.equal(status)
          expect(answer.json.id).to.equal(id)
        })
      }
    }

    it('returns 400 when it is sent twice', async () => {
      const answer = await ask(running.url, {
        method: 'POST',
        headers: { ...postHeaders, 'Mcp-Session-Id': [session.id, session.id] },
        body: rpc('ping'),
      })
      expect(answer.status).to.equal(400)
      expect(answer.text).to.include('mcp-session-id')
    })

    it('returns 404 for an ended session', async () => {
      const ended = await RawSession.open(running.url)
      expect((await ended.delete()).status).to.equal(204)
      expect((await ended.post(rpc('ping'))).status).to.equal(404)
      expect((await ended.delete()).status).to.equal(404)
    })
  })

  describe('the version header', () => {
    it('may be absent or any session revision', async () => {
      expect((await session.post(rpc('ping'))).status).to.equal(200)
      const { status } = await session.post(rpc('ping'), { 'MCP-Protocol-Version': '2025-06-18' })
      expect(status).to.equal(200)
    })

    it('returns 400 with the supported versions when it is unsupported', async () => {
      const { status, json } = await session.post(rpc('ping'), {
        'MCP-Protocol-Version': '1999-01-01',
      })
      expect(status).to.equal(400)
      expect(json.error.message).to.include('2025-11-25').and.include('2024-11-05')
    })
  })

  describe('HTTP rules', () => {
    it('returns 202 without a body to notifications and responses', async () => {
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

    it('returns 405 with Allow to another method', async () => {
      const { status, headers } = await ask(running.url, { method: 'PUT' })
      expect(status).to.equal(405)
      expect(headers.allow).to.equal('GET, POST, DELETE')
    })

    it('returns 406 when Accept lacks a type', async () => {
      for (const Accept of ['application/json', 'text/event-stream', 'text/html']) {
        expect((await session.post(rpc('ping'), { Accept })).status, Accept).to.equal(406)
      }
      const get = await ask(running.url, {
        headers: { Accept: 'application/json', 'Mcp-Session-Id': session.id },
      })
      expect(get.status).to.equal(406)
    })

    it('accepts Accept: */*', async () => {
      expect((await session.post(rpc('ping'), { Accept: '*/*' })).status).to.equal(200)
    })

    it('returns 415 for a Content-Type other than JSON', async () => {
      expect((await session.post(rpc('ping'), { 'Content-Type': 'text/plain' })).status).to.equal(
        415,
      )
    })

    for (const coding of ['gzip', 'br, gzip', 'identity, gzip', 'x']) {
      it(`returns 415 and Accept-Encoding for Content-Encoding "${coding}"`, async () => {
        const answer = await session.post(rpc('ping'), { 'Content-Encoding': coding })
        expect(answer.status).to.equal(415)
        expect(answer.json.error).to.include({ code: -32000 })
        expect(answer.json.error.message).to.match(/Content-Encoding/)
        expect(answer.headers['accept-encoding']).to.equal('identity')
      })
    }

    for (const coding of ['identity', 'Identity', '']) {
      it(`accepts Content-Encoding "${coding}"`, async () => {
        const answer = await session.post(rpc('ping'), { 'Content-Encoding': coding })
        expect(answer.json).to.have.property('result')
      })
    }

    it('returns an empty result with the same id to ping', async () => {
      for (const id of [0, 7, 'text', 'ünïcode "quoted"']) {
        const { json, headers } = await session.post(rpc('ping', undefined, id))
        expect(json).to.deep.equal({ jsonrpc: '2.0', id, result: {} })
        expect(headers['content-type']).to.equal('application/json')
      }
    })

    it('returns 200 and −32601 to an unknown method', async () => {
      for (const method of ['tools/call', 'prompts/list', 'logging/setLevel', 'toString']) {
        const { status, json } = await session.post(rpc(method))
        expect(status, method).to.equal(200)
        expect(json.error.code, method).to.equal(-32601)
      }
    })

    it('returns an empty list of tools when none are offered', async () => {
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
      it(`returns ${status} and ${code} for ${name}, and the session lives`, async () => {
        const answer = await ask(running.url, { method: 'POST', headers: session.headers, body })
        expect(answer.status).to.equal(status)
        expect(answer.json.error.code).to.equal(code)
        expect((await session.post(rpc('ping'))).status).to.equal(200)
      })
    }

    it('returns 413 for a body over the limit, declared or not', async () => {
      const body = rpc('ping', { filler: 'x'.repeat(20_000) })
      expect((await post(body, { 'Mcp-Session-Id': session.id })).status).to.equal(413)
      const chunked = { 'Mcp-Session-Id': session.id, 'Transfer-Encoding': 'chunked' }
      expect((await post(body, chunked)).status).to.equal(413)
      expect((await session.post(rpc('ping'))).status).to.equal(200)
    })
  })

  describe('Origin and Host', () => {
    it('returns 403 naming the flag for foreign ones', async () => {
      for (const [name, value] of [
        ['Origin', 'https://evil.example'],
        ['Host', 'evil.example'],
      ] as const) {
        const { status, json } = await post(initializeBody(), { [name]: value })
        expect(status).to.equal(403)
        expect(json.id).to.equal(null)
        expect(json.error.message).to.match(/--allowed-(origin|host)/)
      }
    })

    it('accepts those of this machine without CORS headers', async () => {
      const { status, headers } = await post(initializeBody(), { Origin: 'http://localhost:1234' })
      expect(status).to.equal(200)
      expect(headers).not.to.have.property('access-control-allow-origin')
    })
  })

  it('returns 404 in JSON for well-known and unknown paths', async () => {
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
