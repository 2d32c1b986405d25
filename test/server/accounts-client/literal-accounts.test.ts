import { expect } from 'chai'
import { Secret } from '../../../src/lib/util/secret.ts'
import { clientOf, expectNoLeak, jwt, sendJson, thrownBy, withServer } from './support.ts'

const password = new Secret('The Password Of This Test')
const endMs = 1_900_000_000_000

/** The specification and nothing else; `tokens` are those it gave out. */
function literal() {
  const tokens: string[] = []
  const give = () => {
    tokens.push(jwt(endMs, String(tokens.length)))
    return { access_token: tokens.at(-1) }
  }
  const handle: Parameters<typeof withServer>[0] = ({ method, path, authorization, body }, res) => {
    const known = tokens.some(token => authorization === `Bearer ${token}`)
    switch (`${method} ${path}`) {
      case 'POST /api/v1/auth/register':
        return void res.writeHead(204).end()
      case 'POST /api/v1/auth/login':
        if (body.password !== password.reveal()) return sendJson(res, 401, { error: 'no' })
        return sendJson(res, 200, give())
      case 'POST /api/v1/auth/refresh':
        return known ? sendJson(res, 200, give()) : sendJson(res, 401, { error: 'no' })
      case 'GET /api/v1/auth/me':
        return known
          ? sendJson(res, 200, { username: 'alice', email: 'alice@x.example' })
          : sendJson(res, 401, { error: 'no' })
      default:
        return void res.writeHead(404, { 'Content-Type': 'text/html' }).end('<h1>Not Found</h1>')
    }
  }
  return { handle, tokens }
}

describe('registry client and a registry that keeps to the letter of the specification', () => {
  it('logs in, reads the end from the token, asks who it is, refreshes', () => {
    const { handle, tokens } = literal()
    return withServer(handle, async ({ url, requests }) => {
      const client = clientOf(url)
      const login = await client.login({ username: 'alice', password })
      expect(login.accessToken.reveal()).to.equal(tokens[0])
      expect(login).to.include({ accessExpiresAtMs: endMs, refreshToken: undefined })
      const me = await client.me(login.accessToken)
      expect(me).to.include({ username: 'alice', email: 'alice@x.example', token: undefined })
      const fresh = await client.refresh({ accessToken: login.accessToken })
      expect(fresh.accessToken.reveal()).to.equal(tokens[1])
      expect(requests.at(-1)).to.deep.equal({
        method: 'POST',
        path: '/api/v1/auth/refresh',
        authorization: `Bearer ${tokens[0]}`,
        body: undefined,
      })
      expect(requests[0]?.body).to.deep.equal({ username: 'alice', password: password.reveal() })
    })
  })

  it('logs in after a registration that answered nothing', () => {
    const { handle, tokens } = literal()
    return withServer(handle, async ({ url, requests }) => {
      const account = { username: 'alice', email: 'alice@x.example', password }
      const made = await clientOf(url).register(account)
      expect(made.accessToken.reveal()).to.equal(tokens[0])
      const paths = requests.map(({ path }) => path)
      expect(paths).to.deep.equal(['/api/v1/auth/register', '/api/v1/auth/login'])
      expect(requests[0]?.body).to.deep.equal({ ...account, password: password.reveal() })
    })
  })

  it('says that the account was made when only the login failed', () => {
    const { handle } = literal()
    return withServer(handle, async ({ url }) => {
      const wrong = new Secret('another password')
      const account = { username: 'alice', email: 'alice@x.example', password: wrong }
      const failure = expectNoLeak(await thrownBy(() => clientOf(url).register(account)), [
        wrong.reveal(),
      ])
      expect(failure.code).to.equal('auth_refused')
      expect(failure.message).to.include('the account was made, but not logged in')
      expect(failure.hint).to.equal(`log in with service-cli login alice --registry ${url}`)
    })
  })

  it('says what such a registry does not offer', () => {
    const { handle } = literal()
    return withServer(handle, async ({ url }) => {
      const failure = expectNoLeak(await thrownBy(() => clientOf(url).listTokens(password)), [])
      expect(failure.code).to.equal('request_refused')
      expect(failure.message).to.equal(`${url} does not offer the list of tokens`)
    })
  })
})
