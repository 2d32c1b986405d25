import { expect } from 'chai'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHmac } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, exportSPKI, type JWTPayload, SignJWT } from 'jose'
import { canonicalSignature } from '../../../src/server/accounts/access-tokens.ts'
import type { KeySet } from '../../../src/server/accounts/keys/key-ring.ts'
import { auth, issuer, makeSigningKey, sharedAccountsServer } from './harness.ts'

type SigningKey = KeySet['signing']['key']

const me = `${auth}/me`
const day = 86_400

describe('access tokens', () => {
  const registry = sharedAccountsServer()
  let token: string
  /** Where forged tokens send for keys. */
  let trap: Server
  let trapped = 0
  let trapUrl: string

  before(async () => {
    token = (await registry.register()).access_token
    trap = createServer((_, res) => void res.end('{}', () => trapped++))
    await new Promise<void>(resolve => trap.listen(0, '127.0.0.1', resolve))
    trapUrl = `http://127.0.0.1:${(trap.address() as AddressInfo).port}/keys`
  })
  after(() => trap.close())

  async function codeOf(sent: string): Promise<string> {
    const answer = await registry.call('GET', me, { token: sent })
    if (answer.status === 200) return 'ok'
    expect(answer.status).to.equal(401)
    const challenge = answer.headers['www-authenticate']
    expect(challenge).to.match(/^Bearer realm="registry", error="invalid_token"/)
    return answer.json.code
  }

  /** A token as the registry would make it, but for what is given. */
  async function forge(
    claims: Record<string, unknown> = {},
    header: Record<string, unknown> = {},
    key: SigningKey = registry.keys.current().signing.key,
  ): Promise<string> {
    const payload: JWTPayload = { ...decodeJwt(token), ...claims }
    for (const [name, value] of Object.entries(payload)) {
      if (value === undefined) delete payload[name]
    }
    const forged = await new SignJWT(payload)
      .setProtectedHeader({ ...decodeProtectedHeader(token), alg: 'ES256', ...header })
      .sign(key, { crit: { x: true } })
    const at = forged.lastIndexOf('.') + 1
    return forged.slice(0, at) + canonicalSignature(forged.slice(at))
  }

  /** The same claims under another header, with the old signature or another one. */
  function headed(header: object, signature = token.split('.')[2]): string {
    const all = { ...decodeProtectedHeader(token), ...header }
    const [, body] = token.split('.')
    return `${Buffer.from(JSON.stringify(all)).toString('base64url')}.${body}.${signature}`
  }

  function signedByPublicKey(secret: string): string {
    const unsigned = headed({ alg: 'HS256' }, '').slice(0, -1)
    return `${unsigned}.${createHmac('sha256', secret).update(unsigned).digest('base64url')}`
  }

  function flipped(part: number): string {
    const parts = token.split('.')
    const text = parts[part] ?? ''
    parts[part] = text.slice(0, 5) + (text[5] === 'A' ? 'B' : 'A') + text.slice(6)
    return parts.join('.')
  }

  const publicKey = () => [...registry.keys.current().verifying.values()][0] as SigningKey

  it('are RFC 9068 JWTs without a name', async () => {
    const { access_token, account } = await registry.register()
    const seconds = registry.clock.nowMs / 1000
    const { kid } = registry.keys.current().signing
    const header = decodeProtectedHeader(access_token)
    expect(header).to.deep.equal({ typ: 'at+jwt', alg: 'ES256', kid })
    const { jti, sid, ...claims } = decodeJwt(access_token)
    expect(jti).to.match(/^[\w-]{22}$/)
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

  it('are accepted as this test makes them', async () => {
    expect(await codeOf(await forge())).to.equal('ok')
  })

  const forgeries: [what: string, make: () => string | Promise<string>][] = [
    ['no algorithm', () => headed({ alg: 'none' }, '')],
    ['the public key as a secret', async () => signedByPublicKey(await exportSPKI(publicKey()))],
    ['another type', () => forge({}, { typ: 'JWT' })],
    ['another header', () => flipped(0)],
    ['other claims', () => flipped(1)],
    ['another signature', () => flipped(2)],
    ['no signature', () => `${token.slice(0, token.lastIndexOf('.'))}.`],
    ['the key of a path', () => headed({ kid: '../../etc/passwd' })],
    ['the key of a word of the language', () => headed({ kid: '__proto__' })],
    ['a key that is no text', () => headed({ kid: ['x'] })],
    ['a key of its own', async () => forgeWithOwnKey('jwk')],
    ['the address of a key', async () => forgeWithOwnKey('jku')],
    ['an unknown demand', () => forge({}, { crit: ['x'], x: 1 })],
    ['another issuer', () => forge({ iss: 'https://evil.example' })],
    ['another audience', () => forge({ aud: 'https://evil.example' })],
    ['another audience beside ours', () => forge({ aud: [issuer, 'https://evil.example'] })],
    ['no session', () => forge({ sid: undefined })],
    ['the account of somebody else', () => forge({ sub: '0190d5a8-4c1e-7cc1-8d11-0123456789ab' })],
    ['no end', () => forge({ exp: undefined })],
    ['an end that is a text', () => forge({ exp: '99999999999' })],
    ['an end in ten years', () => forge({ exp: nowSeconds() + 3650 * day })],
    ['a beginning in an hour', () => forge({ iat: nowSeconds() + 3600 })],
    ['a time before which it is nothing', () => forge({ nbf: nowSeconds() + 3600 })],
  ]
  for (const [what, make] of forgeries) {
    it(`are refused with ${what}`, async () => {
      expect(await codeOf(await make())).to.match(/^token-(invalid|expired)$/)
    })
  }
  const nowSeconds = () => registry.clock.nowMs / 1000

  async function forgeWithOwnKey(member: 'jwk' | 'jku'): Promise<string> {
    const { jwk, privateKey } = await makeSigningKey()
    return forge({}, { [member]: member === 'jwk' ? jwk : trapUrl }, privateKey)
  }

  it('that are refused make no request and no error', () => {
    expect(trapped).to.equal(0)
    expect(registry.logged.filter(({ level }) => level === 'error')).to.deep.equal([])
  })

  it('are asked for where there are none, and named where the header is no Bearer', async () => {
    const none: Record<string, string>[] = [{}, { Authorization: 'Basic YTpi' }]
    for (const headers of [...none, { Authorization: 'Bearer' }]) {
      const answer = await registry.call('GET', me, { headers })
      expect([answer.status, answer.json.code]).to.deep.equal([401, 'token-missing'])
      expect(answer.headers['www-authenticate']).to.equal('Bearer realm="registry"')
    }
  })

  it('are taken until five seconds after their end', async () => {
    const { access_token } = await registry.register()
    const endMs = registry.clock.nowMs + day * 1000
    registry.clock.nowMs = endMs + 4999
    expect(await codeOf(access_token)).to.equal('ok')
    registry.clock.nowMs = endMs + 6000
    expect(await codeOf(access_token)).to.equal('token-expired')
  })
})
