import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { exchange, RawSocket, requestText } from '../../process/raw-socket.ts'
import { until } from '../../helpers/until.ts'
import {
  auth,
  logIn,
  outcome,
  password,
  sharedAccountsServer,
  withAccountsServer,
} from './harness.ts'

const login = `${auth}/login`
const host = 'Host: localhost'
const get = 'GET /healthz HTTP/1.1'
const chunked = 'Transfer-Encoding: chunked'
const portOf = ({ base }: { readonly base: string }) => Number(new URL(base).port)

const post = (headers: readonly string[], body = '0\r\n\r\n') =>
  requestText([`POST ${login} HTTP/1.1`, host, 'Content-Type: application/json', ...headers], body)

describe('a request to the accounts server', () => {
  const registry = sharedAccountsServer()
  const call: typeof registry.call = (...args) => registry.call(...args)

  it('gets 404 for an unknown path and 405 with Allow for another method', async () => {
    for (const path of ['/', `${auth}/`, `${login}/`, `${auth}/LOGIN`, '/api/v2/auth/login'])
      expect(outcome(await call('GET', path)), path).to.deep.equal([404, 'not-found'])
    const wrong: [method: string, path: string, allow: string][] = [
      ['GET', login, 'POST'],
      ['POST', `${auth}/me`, 'GET, HEAD'],
      ['DELETE', `${auth}/tokens`, 'POST, GET, HEAD'],
      ['PATCH', `${auth}/tokens/x`, 'DELETE'],
      ['TRACE', login, 'POST'],
      ['OPTIONS', login, 'POST'],
    ]
    for (const [method, path, allow] of wrong) {
      const headers = { 'X-HTTP-Method-Override': 'POST', Authorization: 'Bearer a-token' }
      const answer = await call(method, path, { headers })
      expect(outcome(answer), `${method} ${path}`).to.deep.equal([405, 'method-not-allowed'])
      expect(answer.headers.allow).to.equal(allow)
      // TRACE would show a page the token that it was not meant to see.
      expect(answer.text).not.to.include('a-token')
    }
  })

  it('is refused first for a foreign Host or Origin', async () => {
    for (const Host of ['evil.example', '127.0.0.1.evil.example']) {
      const answer = await call('GET', '/healthz', { headers: { Host } })
      expect(outcome(answer), Host).to.deep.equal([403, 'host-not-allowed'])
    }
    const whole = requestText(['GET http://evil.example/healthz HTTP/1.1', host])
    expect((await exchange(portOf(registry), whole))?.status).to.equal(403)
    for (const Origin of ['https://evil.example', 'null']) {
      const answer = await logIn(registry, 'alice', password, { Origin })
      expect(outcome(answer), Origin).to.deep.equal([403, 'origin-not-allowed'])
      expect(answer.headers['access-control-allow-origin']).to.equal(undefined)
    }
    const refused = () => registry.audited('request.refused')
    // Written beside the answer, once for a second.
    await until(async () => (await refused()).length > 0, 'the audit entry')
    expect(await refused()).to.have.length(1)
  })

  it('is refused when head, path or query are too large', async () => {
    const header = requestText([get, host, `X: ${'a'.repeat(20_000)}`])
    const answer = await exchange(portOf(registry), header)
    expect(answer?.status).to.equal(431)
    expect(JSON.parse(answer?.body ?? '').code).to.equal('headers-too-large')
    const path = `/healthz?${'a'.repeat(10_000)}`
    expect(outcome(await call('GET', path))).to.deep.equal([414, 'uri-too-long'])
    const members = `/healthz?${'a&'.repeat(500)}`
    expect(outcome(await call('GET', members))).to.deep.equal([400, 'malformed-request'])
  })

  it('gets 406 when it does not accept JSON, and no body for HEAD', async () => {
    const answer = await call('GET', '/healthz', { headers: { Accept: 'text/html' } })
    expect(outcome(answer)).to.deep.equal([406, 'not-acceptable'])
    const headers = { Accept: 'text/html, application/*;q=0.1' }
    expect((await call('GET', '/healthz', { headers })).status).to.equal(200)
    const head = await call('HEAD', '/healthz')
    expect([head.status, head.text]).to.deep.equal([200, ''])
  })

  /** A second request, behind one whose end is a matter of opinion: nobody may act on it. */
  const hidden = requestText([`POST ${auth}/logout HTTP/1.1`, host])
  const malformed: [what: string, text: string][] = [
    ['a length beside chunks', post(['Content-Length: 5', chunked])],
    ['two lengths', post(['Content-Length: 0', `Content-Length: ${hidden.length}`], '')],
    ['a coding within chunks', post(['Transfer-Encoding: gzip, chunked'])],
    ['a space before the colon', post(['Transfer-Encoding : chunked'])],
    ['a folded token', requestText([get, host, 'Authorization: Bearer', ' abc'])],
    ['the beginning of TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000'],
  ]
  for (const [what, text] of malformed) {
    it(`gets one problem and the end of the connection for ${what}`, async () => {
      const raw = await RawSocket.open(portOf(registry))
      raw.write(text + hidden)
      await raw.untilClosed()
      const answers = await raw.answers(2)
      expect(answers.map(({ status }) => status)).to.deep.equal([400])
      expect(answers[0]?.headers).to.include({ 'content-type': 'application/problem+json' })
      expect(JSON.parse(answers[0]?.body ?? '').code).to.equal('malformed-request')
      expect(registry.accessed.map(({ path }) => path)).not.to.include(`${auth}/logout`)
    })
  }

  it('gets a problem without a Host, or when it says who it is for or from twice', async () => {
    const token = 'Authorization: Bearer a'
    for (const headers of [[], [host, 'Host: evil.example'], [host, token, token]]) {
      const answer = await exchange(portOf(registry), requestText([get, ...headers]))
      expect(answer?.status, headers.join()).to.equal(400)
      expect(JSON.parse(answer?.body ?? '').code).to.equal('malformed-request')
    }
  })

  it('of CONNECT gets 405, and nothing is open behind it', async () => {
    const raw = await RawSocket.open(portOf(registry))
    raw.write(requestText(['CONNECT localhost:443 HTTP/1.1', host]) + get)
    await raw.untilClosed()
    expect((await raw.answers(1)).map(({ status }) => status)).to.deep.equal([405])
  })

  it('is asked for its body only when it is taken', async () => {
    const expecting = post(['Content-Length: 2', 'Expect: 100-continue'], '')
    const foreign = expecting.replace(host, 'Host: evil.example')
    for (const [text, status] of [
      [expecting, 100],
      [foreign, 403],
    ] as const) {
      const raw = await RawSocket.open(portOf(registry))
      raw.write(text)
      expect((await raw.answers(1)).map(answer => answer.status)).to.deep.equal([status])
      raw.close()
    }
  })

  describe('with a body', () => {
    const good = { username: 'alice', password }

    const refused: [what: string, body: string | Buffer, status: number, code: string][] = [
      ['half of it', '{"username":"alice","password":"x"', 400, 'malformed-json'],
      ['a form', 'username=alice&password=x', 400, 'malformed-json'],
      ['a member twice', '{"username":"a","\\u0075sername":"b"}', 400, 'malformed-json'],
      ['a deep nesting', `${'['.repeat(17)}${']'.repeat(17)}`, 400, 'malformed-json'],
      ['no UTF-8', Buffer.from('{"username":"\u00e4"}', 'latin1'), 400, 'malformed-request'],
      ['a list', '[]', 422, 'validation-failed'],
      ['too much', `{"username":"${'x'.repeat(17_000)}"}`, 413, 'body-too-large'],
    ]
    for (const [what, body, status, code] of refused) {
      it(`is refused for ${what}`, async () => {
        const answer = await call('POST', login, { body })
        expect(outcome(answer)).to.deep.equal([status, code])
        if (status === 422) expect(answer.json.errors[0].pointer).to.match(/^$|^\//)
      })
    }

    it('is refused with another Content-Type, which web pages may send, or compressed', async () => {
      const types = ['text/plain', 'application/json; charset=utf-16', 'application/jsonp', '']
      const wrong = [
        ...types.map(type => ({ 'Content-Type': type })),
        { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      ]
      for (const headers of wrong) {
        const answer = await call('POST', login, { body: gzipSync(JSON.stringify(good)), headers })
        const what = JSON.stringify(headers)
        expect(outcome(answer), what).to.deep.equal([415, 'unsupported-media-type'])
      }
      const missing = await call('POST', login)
      expect(outcome(missing)).to.deep.equal([415, 'unsupported-media-type'])
    })

    it('is not read before the token is verified', async () => {
      const answer = await call('PUT', `${auth}/password`, { body: '{' })
      expect(outcome(answer)).to.deep.equal([401, 'token-missing'])
    })
  })

  it('gets CORS headers from an allowed origin', () =>
    withAccountsServer(
      async other => {
        const headers = { Origin: 'https://studio.example' }
        const answer = await other.call('GET', '/healthz', { headers })
        expect(answer.headers['access-control-allow-origin']).to.equal('https://studio.example')
        const asks = { ...headers, 'Access-Control-Request-Method': 'PUT' }
        const preflight = await other.call('OPTIONS', `${auth}/password`, { headers: asks })
        expect(preflight.status).to.equal(204)
        expect(preflight.headers['access-control-allow-methods']).to.include('PUT')
      },
      { allowedOrigins: ['https://studio.example'] },
    ))

  it('gets 408 when it does not end, and the end of the connection when it never begins', () => {
    const times = { headersTimeoutMs: 300, bodyTimeoutMs: 300, refusedBodyDrainMs: 100 }
    return withAccountsServer(
      async other => {
        const begun = [
          `${get}\r\n${host}\r\n`,
          post(['Content-Length: 50'], '{"username":'),
          post([chunked], '4\r\n{'),
        ]
        for (const text of begun) {
          const answer = await exchange(portOf(other), text)
          expect(answer?.status, text).to.equal(408)
          expect(JSON.parse(answer?.body ?? '').code).to.equal('request-timeout')
        }
        const silent = await RawSocket.open(portOf(other))
        const drip = await RawSocket.open(portOf(other))
        drip.write(`${get}\r\n${host}\r\n`)
        const dripping = setInterval(() => drip.write('X'), 50)
        await drip.untilClosed().finally(() => clearInterval(dripping))
        expect(drip.received).to.match(/^HTTP\/1\.1 408 /)
        await silent.untilClosed()
        expect(silent.received).to.match(/^(HTTP\/1\.1 408 |$)/)
      },
      { serverLimits: times },
    )
  })

  it('that fails outside a route returns 500 and logs the reason', async () => {
    const failures = [new TypeError('a defect')]
    const audit = {
      record() {
        const failure = failures.pop()
        if (failure !== undefined) throw failure
        return Promise.resolve()
      },
    }
    await withAccountsServer(
      async other => {
        const answer = await other.call('GET', `${auth}/me`, { token: 'x' })
        expect(outcome(answer)).to.deep.equal([500, 'internal'])
        expect(other.logged.map(({ fields }) => fields.err?.message)).to.include('a defect')
      },
      { audit },
    )
  })
})
