import { expect } from 'chai'
import { createHmac } from 'node:crypto'
import { type CryptoKey, decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import { Tokens } from '../../../src/server/accounts/tokens.ts'
import { auth, issuer, meCode, sharedAccountsServer } from './harness.ts'

const me = `${auth}/me`
const day = 86_400

describe('access tokens', () => {
  const registry = sharedAccountsServer()
  let token: string

  before(async () => {
    token = (await registry.register()).access_token
  })

  /** A token as the registry would make it, but for what is given. */
  function forge(
    claims: Record<string, unknown> = {},
    header: Record<string, unknown> = {},
    key: CryptoKey = registry.keys.current.signing.key,
  ): Promise<string> {
    const payload = Object.entries({ ...decodeJwt(token), ...claims })
    return new SignJWT(Object.fromEntries(payload.filter(([, value]) => value !== undefined)))
      .setProtectedHeader({ ...decodeProtectedHeader(token), alg: 'ES256', ...header })
      .sign(key)
  }

  /** The same claims under another header, with the old signature or another one. */
  function headed(header: object, signature = token.split('.')[2]): string {
    const all = { ...decodeProtectedHeader(token), ...header }
    const [, body] = token.split('.')
    return `${Buffer.from(JSON.stringify(all)).toString('base64url')}.${body}.${signature}`
  }

  async function signedByPublicKey(): Promise<string> {
    const { json } = await registry.call('GET', '/.well-known/jwks.json')
    const unsigned = headed({ alg: 'HS256' }, '').slice(0, -1)
    const mac = createHmac('sha256', JSON.stringify(json.keys[0])).update(unsigned)
    return `${unsigned}.${mac.digest('base64url')}`
  }

  it('are RFC 9068 JWTs without a name', async () => {
    const { access_token, account } = await registry.register()
    const seconds = registry.clock.nowMs / 1000
    const { kid } = registry.keys.current.signing
    const header = decodeProtectedHeader(access_token)
    expect(header).to.deep.equal({ typ: 'at+jwt', alg: 'ES256', kid })
    const { jti, sid, ...claims } = decodeJwt(access_token)
    expect(jti).to.match(/^[0-9a-f-]{36}$/)
    expect(sid).to.match(/^[0-9a-f-]{36}$/)
    expect(claims).to.deep.equal({
      iss: issuer,
      aud: issuer,
      sub: account.id,
      client_id: 'service-cli',
      scope: 'account read publish',
      auth_time: seconds,
      iat: seconds,
      exp: seconds + day,
    })
  })

  it('are accepted for 24 hours, and no minute longer', async () => {
    const { access_token } = await registry.register()
    registry.clock.nowMs += day * 1000
    expect(await meCode(registry, access_token)).to.equal('ok')
    registry.clock.nowMs += 60_000
    expect(await meCode(registry, access_token)).to.equal('token-expired')
    token = (await registry.register()).access_token
  })

  it('are accepted as this test makes them', async () => {
    expect(await meCode(registry, await forge())).to.equal('ok')
  })

  const forgeries: [what: string, make: () => string | Promise<string>][] = [
    ['no algorithm', () => headed({ alg: 'none' }, '')],
    ['the public key as a secret', signedByPublicKey],
    ['another type', () => forge({}, { typ: 'JWT' })],
    ['another issuer', () => forge({ iss: 'https://evil.example' })],
    ['another audience', () => forge({ aud: 'https://evil.example' })],
    ['no session', () => forge({ sid: undefined })],
    ['an end that has passed', () => forge({ exp: registry.clock.nowMs / 1000 - 3600 })],
  ]
  for (const [what, make] of forgeries) {
    it(`are refused with ${what}`, async () => {
      const answer = await registry.call('GET', me, { token: await make() })
      expect(answer.status).to.equal(401)
      expect(answer.json.code).to.match(/^token-(invalid|expired)$/)
      const challenge = answer.headers['www-authenticate']
      expect(challenge).to.match(/^Bearer realm="registry", error="invalid_token"/)
    })
  }

  it('that are refused make no error', () => {
    expect(registry.logged.filter(({ level }) => level === 'error')).to.deep.equal([])
  })

  it('are asked for where there are none, or the header is no Bearer', async () => {
    const others = ['Basic YTpi', 'Bearer', token, `Token ${token}`]
    const none: Record<string, string>[] = [{}, { Cookie: `access_token=${token}` }]
    for (const headers of [...none, ...others.map(each => ({ Authorization: each }))]) {
      const answer = await registry.call('GET', `${me}?access_token=${token}`, { headers })
      expect([answer.status, answer.json.code]).to.deep.equal([401, 'token-missing'])
      expect(answer.headers['www-authenticate']).to.equal('Bearer realm="registry"')
    }
  })

  it('stay valid when the lifetime of new ones is lowered', async () => {
    const { access_token, account } = await registry.register()
    const { store, keys } = registry
    const lowered = new Tokens({ store, keys, issuer, accessTokenMs: 60_000 })
    registry.clock.nowMs += (day - 60) * 1000
    const { session } = await lowered.authenticate(access_token)
    expect(session?.accountId).to.equal(account.id)
  })
})
