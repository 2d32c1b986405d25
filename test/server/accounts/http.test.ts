import { expect } from 'chai'
import { ask } from '../../helpers/mcp.ts'
import { exchange, requestText } from '../../process/raw-socket.ts'
import {
  auth,
  logIn,
  outcome,
  password,
  sharedAccountsServer,
  openAccountsServer,
  withMethods,
} from './harness.ts'

const login = `${auth}/login`
const host = 'Host: localhost'
const get = 'GET /healthz HTTP/1.1'
const portOf = ({ base }: { readonly base: string }) => Number(new URL(base).port)

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
      ['OPTIONS', login, 'POST'],
    ]
    for (const [method, path, allow] of wrong) {
      const headers = { 'X-HTTP-Method-Override': 'POST', Authorization: 'Bearer a-token' }
      const answer = await call(method, path, { headers })
      expect(outcome(answer), `${method} ${path}`).to.deep.equal([405, 'method-not-allowed'])
      expect(answer.headers.allow).to.equal(allow)
    }
  })

  it('is refused first for a foreign Host or Origin', async () => {
    for (const Host of ['evil.example', '127.0.0.1.evil.example']) {
      const answer = await call('GET', '/healthz', { headers: { Host } })
      expect(outcome(answer), Host).to.deep.equal([403, 'host-not-allowed'])
    }
    const whole = requestText(['GET http://evil.example/healthz HTTP/1.1', host])
    expect((await exchange(portOf(registry), whole))?.status).to.equal(400)
    for (const Origin of ['https://evil.example', 'null']) {
      const answer = await logIn(registry, 'alice', password, { Origin })
      expect(outcome(answer), Origin).to.deep.equal([403, 'origin-not-allowed'])
      expect(answer.headers['access-control-allow-origin']).to.equal(undefined)
    }
  })

  it('gets a problem without a Host, or when it says who it is for or from twice', async () => {
    const token = 'Authorization: Bearer a'
    for (const headers of [[], [host, 'Host: evil.example'], [host, token, token]]) {
      const answer = await exchange(portOf(registry), requestText([get, ...headers]))
      expect(answer?.status, headers.join()).to.equal(400)
      expect(JSON.parse(answer?.body ?? '').code).to.equal('malformed-request')
    }
  })

  describe('with a body', () => {
    const refused: [what: string, body: string | Buffer, status: number, code: string][] = [
      ['half of it', '{"username":"alice","password":"x"', 400, 'malformed-json'],
      ['a form', 'username=alice&password=x', 400, 'malformed-json'],
      ['a list', '[]', 422, 'validation-failed'],
      ['a further member', '{"username":"a","password":"b","sub":"c"}', 422, 'validation-failed'],
      ['a deep nesting', `${'['.repeat(8000)}${']'.repeat(8000)}`, 422, 'validation-failed'],
      ['too much', `{"username":"${'x'.repeat(17_000)}"}`, 413, 'body-too-large'],
    ]
    for (const [what, body, status, code] of refused) {
      it(`is refused for ${what}`, async () => {
        const answer = await call('POST', login, { body })
        expect(outcome(answer)).to.deep.equal([status, code])
        if (status === 422) expect(answer.json.errors[0].pointer).to.match(/^$|^\//)
      })
    }

    it('is taken for one without when that is empty', async () => {
      const { access_token: token } = await registry.register()
      const refreshed = await call('POST', `${auth}/refresh`, { token, body: '' })
      expect(refreshed.status).to.equal(200)
      expect((await call('POST', `${auth}/logout`, { token, body: '' })).status).to.equal(204)
      expect(outcome(await call('POST', login, { body: '' }))).to.deep.equal([
        422,
        'validation-failed',
      ])
    })

    it('is refused with another Content-Type, which web pages may send, or compressed', async () => {
      const wrong = ['text/plain', 'application/jsonp', ''].map(type => ({ 'Content-Type': type }))
      for (const headers of [...wrong, { 'Content-Encoding': 'gzip' }]) {
        const answer = await call('POST', login, { body: { username: 'a' }, headers })
        const what = JSON.stringify(headers)
        expect(outcome(answer), what).to.deep.equal([415, 'unsupported-media-type'])
      }
    })
  })

  it('is counted by its route and logged with its account, but without what looks like a token', async () => {
    const other = await openAccountsServer()
    const { access_token: token, account } = await other.register()
    await other.call('DELETE', `${auth}/tokens/srt_abcdefgh12345678`, { token })
    await other.call('GET', '/nowhere')
    const { text } = await ask(`${other.base}/metrics`)
    const counted = text.match(/^service_cli_requests_total.*/gm)
    expect(counted).to.have.members([
      `service_cli_requests_total{route="${auth}/register",status="2xx"} 1`,
      `service_cli_requests_total{route="${auth}/tokens/:id",status="4xx"} 1`,
      'service_cli_requests_total{route="other",status="4xx"} 1',
    ])
    const entry = other.accessed.find(({ method }) => method === 'DELETE')
    expect(entry).to.include({ path: `${auth}/tokens/[redacted]`, principal: account.id })
  })

  it('that fails returns 500 and logs the reason', async () => {
    const other = await openAccountsServer({
      wrap: store =>
        withMethods(store, { listServiceTokens: () => Promise.reject(new Error('a defect')) }),
    })
    const { access_token: token } = await other.register()
    const answer = await other.call('GET', `${auth}/tokens`, { token })
    expect(outcome(answer)).to.deep.equal([500, 'internal'])
    expect(answer.text).not.to.include('a defect')
    expect(other.logged.map(({ fields }) => fields.err?.message)).to.include('a defect')
  })
})
