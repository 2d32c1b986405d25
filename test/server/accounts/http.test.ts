import { expect } from 'chai'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Answer } from '../../helpers/mcp.ts'
import { auth, password, type Registry, withRegistry } from './harness.ts'

const login = `${auth}/login`
const json = { 'Content-Type': 'application/json' }
const good = { username: 'alice', password }

const outcome = ({ status, json: { code } }: Answer) => [status, code]

/** Bytes as they are, and all that comes back until the server closes. */
function exchange({ base }: Registry, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(base).port), '127.0.0.1')
    let answer = ''
    socket.setEncoding('latin1').on('data', piece => (answer += piece))
    socket.on('close', () => resolve(answer)).on('error', reject)
    socket.write(text)
  })
}

const raw = (line: string, headers: string[] = [], body = '') =>
  [line, ...headers, 'Connection: close', '', body].join('\r\n')

function problemIn(answer: string): { status: number; code: string } {
  expect(answer).to.match(/content-type: application\/problem\+json/i)
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
}

describe('bodies', () => {
  const malformed = [
    '{',
    '{"username":"alice","password":"x"',
    'username=alice&password=x',
    '{"username":"alice","username":"bob","password":"x"}',
    '{"username":"alice","\\u0075sername":"bob","password":"x"}',
    `${'['.repeat(17)}${']'.repeat(17)}`,
    `{"username":${'['.repeat(5000)}`,
    '{"username":NaN}',
    "{'username':'alice'}",
    'undefined',
  ]
  it('that are no JSON, name a member twice or nest too deep are malformed', () =>
    withRegistry(async ({ call }) => {
      for (const body of malformed) {
        const answer = await call('POST', login, { body })
        expect(outcome(answer), body.slice(0, 60)).to.deep.equal([400, 'malformed-json'])
      }
    }))

  const misshaped = ['null', '[]', '"text"', '7', '1e400', '{}', '[[[]]]', '{"username":1e999}']
  it('of another shape are invalid, never an internal error', () =>
    withRegistry(async ({ call, logged }) => {
      for (const body of misshaped) {
        const answer = await call('POST', login, { body })
        expect(outcome(answer), body).to.deep.equal([422, 'validation-failed'])
        expect(answer.json.errors[0].pointer).to.match(/^$|^\//)
      }
      expect(logged.filter(({ level }) => level === 'error')).to.deep.equal([])
    }))

  it('may begin with a byte order mark, and must be UTF-8', () =>
    withRegistry(async registry => {
      await registry.register('alice')
      const text = JSON.stringify(good)
      expect((await registry.call('POST', login, { body: `\ufeff${text}` })).status).to.equal(200)
      const latin = Buffer.from('{"username":"\u00e4lice","password":"x"}', 'latin1')
      const answer = await registry.call('POST', login, { body: latin })
      expect(outcome(answer)).to.deep.equal([400, 'malformed-request'])
    }))

  const types = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/jsonp',
    '',
  ]
  it('of another type are not read: a web page can send those without asking', () =>
    withRegistry(async registry => {
      await registry.register('alice')
      for (const type of types) {
        const headers = { 'Content-Type': type }
        const answer = await registry.call('POST', login, { body: good, headers })
        expect(outcome(answer), type).to.deep.equal([415, 'unsupported-media-type'])
      }
      const headers = { 'Content-Type': 'Application/JSON; charset="UTF-8"' }
      expect((await registry.call('POST', login, { body: good, headers })).status).to.equal(200)
      expect(outcome(await registry.call('POST', login))).to.deep.equal([
        415,
        'unsupported-media-type',
      ])
    }))

  it('that are packed are not unpacked', () =>
    withRegistry(async ({ call }) => {
      const bomb = gzipSync(Buffer.alloc(1_000_000))
      for (const coding of ['gzip', 'br', 'deflate', 'gzip, gzip', 'GZIP']) {
        const headers = { ...json, 'Content-Encoding': coding }
        const answer = await call('POST', login, { body: bomb, headers })
        expect(outcome(answer), coding).to.deep.equal([415, 'unsupported-media-type'])
      }
    }))

  it('beyond the bound are refused before they are read, with a length or without', () =>
    withRegistry(
      async registry => {
        const large = JSON.stringify({ ...good, password: 'x'.repeat(17_000) })
        const answer = await registry.call('POST', login, { body: large })
        expect(outcome(answer)).to.deep.equal([413, 'body-too-large'])
        const declared = raw(`POST ${login} HTTP/1.1`, [
          'Host: localhost',
          'Content-Type: application/json',
          'Content-Length: 20000',
        ])
        expect(problemIn(await exchange(registry, declared))).to.include({ status: 413 })
        const chunk = `4e20\r\n${' '.repeat(20_000)}\r\n0\r\n\r\n`
        const chunked = raw(
          `POST ${login} HTTP/1.1`,
          ['Host: localhost', 'Content-Type: application/json', 'Transfer-Encoding: chunked'],
          chunk,
        )
        expect(problemIn(await exchange(registry, chunked))).to.include({ status: 413 })
      },
      { serverLimits: { refusedBodyDrainMs: 100 } },
    ))

  it('that stop are given up with 408', () =>
    withRegistry(
      async registry => {
        const headers = ['Host: localhost', 'Content-Type: application/json', 'Content-Length: 50']
        const begun = raw(`POST ${login} HTTP/1.1`, headers, '{"username":')
        const answer = problemIn(await exchange(registry, begun))
        expect(answer).to.include({ status: 408, code: 'request-timeout' })
      },
      { serverLimits: { bodyTimeoutMs: 100, refusedBodyDrainMs: 100 } },
    ))

  it('are left alone until the token was found good', () =>
    withRegistry(async ({ call }) => {
      const answer = await call('PUT', `${auth}/password`, { body: '{' })
      expect(outcome(answer)).to.deep.equal([401, 'token-missing'])
    }))
})

describe('requests', () => {
  it('to paths that are not there get 404, with other methods 405 and what is allowed', () =>
    withRegistry(async ({ call }) => {
      const paths = ['/', '/api', `${auth}/`, `${login}/`, `${auth}/LOGIN`, '/api/v2/auth/login']
      for (const path of paths)
        expect(outcome(await call('GET', path)), path).to.deep.equal([404, 'not-found'])
      const wrong: [method: string, path: string, allow: string][] = [
        ['GET', login, 'POST'],
        ['POST', `${auth}/me`, 'GET, HEAD'],
        ['DELETE', `${auth}/tokens`, 'POST, GET, HEAD'],
        ['PATCH', `${auth}/sessions/x`, 'DELETE'],
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

  it('have an id of their own in every problem', () =>
    withRegistry(async ({ call, accessed }) => {
      const answers = [await call('GET', '/x'), await call('GET', '/x')]
      const ids = answers.map(({ json: { instance } }) => instance)
      expect(new Set(ids).size).to.equal(2)
      const logged = accessed.map(({ requestId }) => `urn:uuid:${requestId}`)
      expect(logged).to.include.members(ids)
    }))

  it('of a foreign name, or from a foreign page, are refused before anything else', () =>
    withRegistry(async ({ call, audited }) => {
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
      expect(await audited('request.refused')).to.have.length(1)
    }))

  it('from an allowed page are answered with CORS', () =>
    withRegistry(
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

  it('with two of a header that decides something are malformed', () =>
    withRegistry(async registry => {
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
    it(`with ${what} get a problem, and the connection ends`, () =>
      withRegistry(async registry => {
        const answer = await exchange(registry, text)
        expect(problemIn(answer)).to.include({ status: 400, code: 'malformed-request' })
      }))
  }

  it('too large in head, path or query are refused', () =>
    withRegistry(async registry => {
      const header = raw('GET / HTTP/1.1', ['Host: localhost', `X: ${'a'.repeat(20_000)}`])
      const answer = problemIn(await exchange(registry, header))
      expect(answer).to.include({ status: 431, code: 'headers-too-large' })
      const path = `/healthz?${'a'.repeat(10_000)}`
      expect(outcome(await registry.call('GET', path))).to.deep.equal([414, 'uri-too-long'])
      const members = `/healthz?${'a&'.repeat(500)}`
      expect(outcome(await registry.call('GET', members))).to.deep.equal([400, 'malformed-request'])
    }))

  it('whose head does not end are given up with 408', () =>
    withRegistry(
      async registry => {
        const answer = await exchange(registry, 'GET / HTTP/1.1\r\nHost: localhost\r\n')
        expect(problemIn(answer)).to.include({ status: 408, code: 'request-timeout' })
      },
      { serverLimits: { headersTimeoutMs: 200 } },
    ))

  it('that take no JSON are not acceptable', () =>
    withRegistry(async ({ call }) => {
      const answer = await call('GET', '/healthz', { headers: { Accept: 'text/html' } })
      expect(outcome(answer)).to.deep.equal([406, 'not-acceptable'])
      const headers = { Accept: 'text/html, application/*;q=0.1' }
      expect((await call('GET', '/healthz', { headers })).status).to.equal(200)
    }))

  it('by HEAD get the head alone', () =>
    withRegistry(async ({ call }) => {
      const answer = await call('HEAD', '/healthz')
      expect([answer.status, answer.text]).to.deep.equal([200, ''])
    }))
})

describe('a failure outside of a route', () => {
  it('is an internal error with its reason in the log', async () => {
    const failures = [new TypeError('a defect')]
    const audit = {
      record() {
        const failure = failures.pop()
        if (failure !== undefined) throw failure
        return Promise.resolve()
      },
    }
    await withRegistry(
      async ({ call, logged }) => {
        const answer = await call('GET', `${auth}/me`, { token: 'x' })
        expect(outcome(answer)).to.deep.equal([500, 'internal'])
        expect(logged.map(({ fields }) => fields.err?.message)).to.include('a defect')
      },
      { audit },
    )
  })
})
