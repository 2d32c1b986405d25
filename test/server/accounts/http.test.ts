import { expect } from 'chai'
import { auth, exchange, outcome, problemIn, raw, password, withAccountsServer } from './harness.ts'
import { until } from '../../helpers/until.ts'

const login = `${auth}/login`
const good = { username: 'alice', password }

describe('a request', () => {
  it('gets 404 for an unknown path and 405 with Allow for another method', () =>
    withAccountsServer(async ({ call }) => {
      const paths = ['/', '/api', `${auth}/`, `${login}/`, `${auth}/LOGIN`, '/api/v2/auth/login']
      for (const path of paths)
        expect(outcome(await call('GET', path)), path).to.deep.equal([404, 'not-found'])
      const wrong: [method: string, path: string, allow: string][] = [
        ['GET', login, 'POST'],
        ['POST', `${auth}/me`, 'GET, HEAD'],
        ['DELETE', `${auth}/tokens`, 'POST, GET, HEAD'],
        ['PATCH', `${auth}/tokens/x`, 'DELETE'],
        ['TRACE', login, 'POST'],
        ['OPTIONS', login, 'POST'],
        ['POST', '/healthz', 'GET, HEAD'],
      ]
      for (const [method, path, allow] of wrong) {
        const answer = await call(method, path)
        expect(outcome(answer), `${method} ${path}`).to.deep.equal([405, 'method-not-allowed'])
        expect(answer.headers.allow).to.equal(allow)
      }
      const headers = { 'X-HTTP-Method-Override': 'POST' }
      expect((await call('GET', login, { headers })).status).to.equal(405)
    }))

  it('has a unique id in every problem', () =>
    withAccountsServer(async ({ call, accessed }) => {
      const answers = [await call('GET', '/x'), await call('GET', '/x')]
      const ids = answers.map(({ json: { instance } }) => instance)
      expect(new Set(ids).size).to.equal(2)
      const logged = accessed.map(({ requestId }) => `urn:uuid:${requestId}`)
      expect(logged).to.include.members(ids)
    }))

  it('is refused first for a foreign Host or Origin', () =>
    withAccountsServer(async ({ call, audited }) => {
      const hosts = ['evil.example', 'registry.studio.example', '127.0.0.1.evil.example']
      for (const Host of hosts) {
        const answer = await call('GET', '/healthz', { headers: { Host } })
        expect(outcome(answer), Host).to.deep.equal([403, 'host-not-allowed'])
      }
      for (const Origin of ['https://evil.example', 'null', 'file://']) {
        const answer = await call('POST', login, { body: good, headers: { Origin } })
        expect(outcome(answer), Origin).to.deep.equal([403, 'origin-not-allowed'])
        expect(answer.headers['access-control-allow-origin']).to.equal(undefined)
      }
      const refused = () => audited('request.refused')
      // Written beside the answer.
      await until(async () => (await refused()).length > 0, 'the audit entry')
      expect(await refused()).to.have.length(1)
    }))

  it('gets CORS headers from an allowed origin', () =>
    withAccountsServer(
      async ({ call }) => {
        const headers = { Origin: 'https://studio.example' }
        const answer = await call('GET', '/healthz', { headers })
        expect(answer.headers['access-control-allow-origin']).to.equal('https://studio.example')
        const asks = { ...headers, 'Access-Control-Request-Method': 'PUT' }
        const preflight = await call('OPTIONS', `${auth}/password`, { headers: asks })
        expect(preflight.status).to.equal(204)
        expect(preflight.headers['access-control-allow-methods']).to.include('PUT')
      },
      { allowedOrigins: ['https://studio.example'] },
    ))

  it('is malformed with a duplicate header', () =>
    withAccountsServer(async registry => {
      const host = 'Host: localhost'
      const doubled = [
        [host, 'Host: evil.example'],
        [host, 'Authorization: Bearer a', 'Authorization: Bearer b'],
        [host, 'Content-Type: application/json', 'Content-Type: text/plain'],
      ]
      for (const headers of doubled) {
        const answer = await exchange(registry, raw(`GET ${auth}/me HTTP/1.1`, headers))
        expect(problemIn(answer)).to.include({ status: 400, code: 'malformed-request' })
      }
      const foreign = raw('GET http://evil.example/healthz HTTP/1.1', [host])
      expect(problemIn(await exchange(registry, foreign))).to.include({ status: 403 })
    }))

  const broken: [what: string, text: string][] = [
    ['no HTTP', 'hello\r\n\r\n'],
    ['a space before the colon', raw('GET / HTTP/1.1', ['Host : localhost'])],
    [
      'a length beside chunks',
      raw(
        `POST ${login} HTTP/1.1`,
        ['Host: localhost', 'Content-Length: 3', 'Transfer-Encoding: chunked'],
        '0\r\n\r\n',
      ),
    ],
    [
      'two lengths',
      raw(
        `POST ${login} HTTP/1.1`,
        ['Host: localhost', 'Content-Length: 3', 'Content-Length: 4'],
        'abc',
      ),
    ],
    ['a NUL', raw('GET / HTTP/1.1', ['Host: localhost', 'X: a\u0000b'])],
  ]
  for (const [what, text] of broken) {
    it(`gets a problem and the end of the connection with ${what}`, () =>
      withAccountsServer(async registry => {
        const answer = await exchange(registry, text)
        expect(problemIn(answer)).to.include({ status: 400, code: 'malformed-request' })
      }))
  }

  it('is refused when head, path or query are too large', () =>
    withAccountsServer(async registry => {
      const header = raw('GET / HTTP/1.1', ['Host: localhost', `X: ${'a'.repeat(20_000)}`])
      const answer = problemIn(await exchange(registry, header))
      expect(answer).to.include({ status: 431, code: 'headers-too-large' })
      const path = `/healthz?${'a'.repeat(10_000)}`
      expect(outcome(await registry.call('GET', path))).to.deep.equal([414, 'uri-too-long'])
      const members = `/healthz?${'a&'.repeat(500)}`
      expect(outcome(await registry.call('GET', members))).to.deep.equal([400, 'malformed-request'])
    }))

  it('gets 408 when its head does not end', () =>
    withAccountsServer(
      async registry => {
        const answer = await exchange(registry, 'GET / HTTP/1.1\r\nHost: localhost\r\n')
        expect(problemIn(answer)).to.include({ status: 408, code: 'request-timeout' })
      },
      { serverLimits: { headersTimeoutMs: 200 } },
    ))

  it('gets 406 when it does not accept JSON', () =>
    withAccountsServer(async ({ call }) => {
      const answer = await call('GET', '/healthz', { headers: { Accept: 'text/html' } })
      expect(outcome(answer)).to.deep.equal([406, 'not-acceptable'])
      const headers = { Accept: 'text/html, application/*;q=0.1' }
      expect((await call('GET', '/healthz', { headers })).status).to.equal(200)
    }))

  it('gets no body for HEAD', () =>
    withAccountsServer(async ({ call }) => {
      const answer = await call('HEAD', '/healthz')
      expect([answer.status, answer.text]).to.deep.equal([200, ''])
    }))
})

describe('a failure outside a route', () => {
  it('returns 500 and logs the reason', async () => {
    const failures = [new TypeError('a defect')]
    const audit = {
      record() {
        const failure = failures.pop()
        if (failure !== undefined) throw failure
        return Promise.resolve()
      },
    }
    await withAccountsServer(
      async ({ call, logged }) => {
        const answer = await call('GET', `${auth}/me`, { token: 'x' })
        expect(outcome(answer)).to.deep.equal([500, 'internal'])
        expect(logged.map(({ fields }) => fields.err?.message)).to.include('a defect')
      },
      { audit },
    )
  })
})
