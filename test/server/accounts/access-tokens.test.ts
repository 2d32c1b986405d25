import { expect } from 'chai'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHmac } from 'node:crypto'
import {
  compactVerify,
  decodeJwt,
  decodeProtectedHeader,
  exportSPKI,
  type JWTPayload,
  SignJWT,
} from 'jose'
import { canonicalSignature } from '../../../src/server/accounts/access-tokens.ts'
import type { KeySet } from '../../../src/server/accounts/keys/key-ring.ts'
import {
  auth,
  issuer,
  makeKeys,
  makeSigningKey,
  refresh,
  sharedAccountsServer,
  withAccountsServer,
} from './harness.ts'

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
    ['no algorithm, and a signature', () => headed({ alg: 'nOnE' }, 'AAAA')],
    ['the public key as a secret', async () => signedByPublicKey(await exportSPKI(publicKey()))],
    [
      'the published key as a secret',
      () => signedByPublicKey(JSON.stringify(registry.keys.current().jwks.keys[0])),
    ],
    ['another type', () => forge({}, { typ: 'JWT' })],
    ['no type', () => forge({}, { typ: undefined })],
    ['another header', () => flipped(0)],
    ['other claims', () => flipped(1)],
    ['another signature', () => flipped(2)],
    ['a cut signature', () => token.slice(0, -3)],
    ['no signature', () => `${token.slice(0, token.lastIndexOf('.'))}.`],
    ['a fourth part', () => `${token}.AAAA`],
    ['padding', () => `${token}==`],
    ['4 KiB behind it', () => token + 'A'.repeat(4096)],
    ['dots alone', () => '..'],
    ['the key of a path', () => headed({ kid: '../../etc/passwd' })],
    ['the key of a word of the language', () => headed({ kid: '__proto__' })],
    ['a NUL in the key', () => headed({ kid: 'a\u0000b' })],
    ['a key that is no text', () => headed({ kid: ['x'] })],
    ['a key of its own', async () => forgeWithOwnKey('jwk')],
    ['the address of a key', async () => forgeWithOwnKey('jku')],
    ['the address of a certificate', async () => forgeWithOwnKey('x5u')],
    ['an unknown demand', () => forge({}, { crit: ['x'], x: 1 })],
    ['another issuer', () => forge({ iss: 'https://evil.example' })],
    ['another audience', () => forge({ aud: 'https://evil.example' })],
    ['another audience beside ours', () => forge({ aud: [issuer, 'https://evil.example'] })],
    ['no session', () => forge({ sid: undefined })],
    ['a session that is an object', () => forge({ sid: { $ne: null } })],
    ['no id', () => forge({ jti: undefined })],
    ['the account of somebody else', () => forge({ sub: '0190d5a8-4c1e-7cc1-8d11-0123456789ab' })],
    ['no end', () => forge({ exp: undefined })],
    ['an end that is a text', () => forge({ exp: '99999999999' })],
    ['an end with a fraction', () => forge({ exp: nowSeconds() + 3600.5 })],
    ['an end that never comes', () => forge({ exp: 1e308 })],
    ['an end in ten years', () => forge({ exp: nowSeconds() + 3650 * day })],
    ['no beginning', () => forge({ iat: undefined })],
    ['a beginning in an hour', () => forge({ iat: nowSeconds() + 3600 })],
    ['a time before which it is nothing', () => forge({ nbf: nowSeconds() + 3600 })],
  ]
  for (const [what, make] of forgeries) {
    it(`are refused with ${what}`, async () => {
      expect(await codeOf(await make())).to.match(/^token-(invalid|expired)$/)
    })
  }
  const nowSeconds = () => registry.clock.nowMs / 1000

  async function forgeWithOwnKey(member: 'jwk' | 'jku' | 'x5u'): Promise<string> {
    const { jwk, privateKey } = await makeSigningKey()
    return forge({}, { [member]: member === 'jwk' ? jwk : trapUrl }, privateKey)
  }

  it('that are refused make no request and no error', () => {
    expect(trapped).to.equal(0)
    expect(registry.logged.filter(({ level }) => level === 'error')).to.deep.equal([])
  })

  it('are refused in every other spelling of the signature, also where they are refreshed', async () => {
    const { access_token } = await registry.register()
    const tokens: string[] = [access_token]
    // Half of all signatures have a large s before they are made canonical.
    for (let count = 0; count < 16; count++) {
      tokens.push((await refresh(registry, access_token)).json.access_token)
    }
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (const one of tokens) {
      expect(await codeOf(one)).to.equal('ok')
      // The last character of 86 holds 4 bits that no byte needs.
      const last = alphabet.indexOf(one.at(-1) ?? '')
      expect(await codeOf(one.slice(0, -1) + alphabet[last ^ 1])).to.equal('token-invalid')
    }
    const twin = await otherRoot(access_token)
    expect(await codeOf(twin)).to.equal('token-invalid')
    expect((await refresh(registry, twin)).json.code).to.equal('token-invalid')
  })

  /** The same token with `order - s` in the place of `s`: a signature that verifies as well. */
  async function otherRoot(of: string): Promise<string> {
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
    const [head, body, signature = ''] = of.split('.')
    const hex = Buffer.from(signature, 'base64url').toString('hex')
    const s = (order - BigInt(`0x${hex.slice(64)}`)).toString(16).padStart(64, '0')
    const twin = Buffer.from(hex.slice(0, 64) + s, 'hex').toString('base64url')
    await compactVerify(`${head}.${body}.${twin}`, publicKey())
    return `${head}.${body}.${twin}`
  }

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

  it('are refused with a word about the clock when it was set back', () =>
    withAccountsServer(async ({ clock, register, call }) => {
      const { access_token } = await register()
      clock.nowMs -= 5000
      expect((await call('GET', me, { token: access_token })).status).to.equal(200)
      clock.nowMs -= 3_600_000
      const { status, json } = await call('GET', me, { token: access_token })
      expect(status).to.equal(401)
      expect(json.detail).to.include('the clock of the accounts server may be wrong')
    }))

  it('of a retired key are taken, those of a deleted one are not', async () => {
    const keys = await makeKeys()
    await withAccountsServer(
      async other => {
        const code = async (sent: string) =>
          (await other.call('GET', me, { token: sent })).json.code ?? 'ok'
        const { access_token } = await other.register()
        const old = keys.set
        const { kid, privateKey, publicKey, jwk } = await makeSigningKey()
        const both: KeySet = {
          ...old,
          signing: { kid, alg: 'ES256', key: privateKey },
          verifying: new Map([...old.verifying, [kid, publicKey]]),
          jwks: { keys: [...old.jwks.keys, jwk] },
        }
        keys.set = both
        expect(await code(access_token)).to.equal('ok')
        const published = await other.call('GET', '/.well-known/jwks.json')
        expect(published.json.keys).to.have.length(2)
        expect(published.headers['cache-control']).to.equal('public, max-age=300')
        expect(published.text).not.to.include('"d"')
        const fresh = (await refresh(other, access_token)).json.access_token
        expect(decodeProtectedHeader(fresh).kid).to.equal(kid)

        keys.set = { ...both, verifying: new Map([[kid, publicKey]]), jwks: { keys: [jwk] } }
        expect(await code(access_token)).to.equal('token-invalid')
        expect(await code(fresh)).to.equal('ok')
      },
      { keys },
    )
  })
})
