import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { auth, exchange, outcome, problemIn, raw, password, withAccountsServer } from './harness.ts'

const login = `${auth}/login`
const json = { 'Content-Type': 'application/json' }
const good = { username: 'alice', password }

describe('a request body', () => {
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
  it('is malformed when it is no JSON, repeats a member or nests too deep', () =>
    withAccountsServer(async ({ call }) => {
      for (const body of malformed) {
        const answer = await call('POST', login, { body })
        expect(outcome(answer), body.slice(0, 60)).to.deep.equal([400, 'malformed-json'])
      }
    }))

  const misshaped = ['null', '[]', '"text"', '7', '1e400', '{}', '[[[]]]', '{"username":1e999}']
  it('is invalid when it has another shape', () =>
    withAccountsServer(async ({ call, logged }) => {
      for (const body of misshaped) {
        const answer = await call('POST', login, { body })
        expect(outcome(answer), body).to.deep.equal([422, 'validation-failed'])
        expect(answer.json.errors[0].pointer).to.match(/^$|^\//)
      }
      expect(logged.filter(({ level }) => level === 'error')).to.deep.equal([])
    }))

  it('may begin with a byte order mark and must be UTF-8', () =>
    withAccountsServer(async registry => {
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
  it('is refused with another Content-Type, which web pages may send', () =>
    withAccountsServer(async registry => {
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

  it('is refused when it is compressed', () =>
    withAccountsServer(async ({ call }) => {
      const bomb = gzipSync(Buffer.alloc(1_000_000))
      for (const coding of ['gzip', 'br', 'deflate', 'gzip, gzip', 'GZIP']) {
        const headers = { ...json, 'Content-Encoding': coding }
        const answer = await call('POST', login, { body: bomb, headers })
        expect(outcome(answer), coding).to.deep.equal([415, 'unsupported-media-type'])
      }
    }))

  it('is refused beyond the limit, with a length or in chunks', () =>
    withAccountsServer(
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

  it('gets 408 when it stalls', () =>
    withAccountsServer(
      async registry => {
        const headers = ['Host: localhost', 'Content-Type: application/json', 'Content-Length: 50']
        const begun = raw(`POST ${login} HTTP/1.1`, headers, '{"username":')
        const answer = problemIn(await exchange(registry, begun))
        expect(answer).to.include({ status: 408, code: 'request-timeout' })
      },
      { serverLimits: { bodyTimeoutMs: 100, refusedBodyDrainMs: 100 } },
    ))

  it('is not read before the token is verified', () =>
    withAccountsServer(async ({ call }) => {
      const answer = await call('PUT', `${auth}/password`, { body: '{' })
      expect(outcome(answer)).to.deep.equal([401, 'token-missing'])
    }))
})
