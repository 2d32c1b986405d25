import { expect } from 'chai'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHmac } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, exportSPKI, type JWTPayload, SignJWT } from 'jose'
import { canonicalSignature } from '../../../src/server/accounts/access-tokens.ts'
import type { KeySet } from '../../../src/server/accounts/keys/key-ring.ts'
import {
  auth,
  issuer,
  makeKeys,
  makeSigningKey,
  type AccountsServer,
  withAccountsServer,
} from './harness.ts'

type SigningKey = KeySet['signing']['key']

const me = `${auth}/me`

async function codeOf({ call }: AccountsServer, token: string): Promise<string> {
  const answer = await call('GET', me, { token })
  if (answer.status === 200) return 'ok'
  expect(answer.status).to.equal(401)
  expect(answer.headers['www-authenticate']).to.match(
    /^Bearer realm="registry", error="invalid_token"/,
  )
  return answer.json.code
}

/** A token as the registry would make it, but for what is given. */
async function forge(
  registry: AccountsServer,
  like: string,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  key?: SigningKey,
): Promise<string> {
  const payload: JWTPayload = { ...decodeJwt(like), ...claims }
  for (const [name, value] of Object.entries(payload)) if (value === undefined) delete payload[name]
  const token = await new SignJWT(payload)
    .setProtectedHeader({ ...decodeProtectedHeader(like), alg: 'ES256', ...header })
    .sign(key ?? registry.keys.current().signing.key)
  const at = token.lastIndexOf('.') + 1
  return token.slice(0, at) + canonicalSignature(token.slice(at))
}

function unsigned(header: object, payload: object, signature = ''): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part(header)}.${part(payload)}.${signature}`
}

describe('access tokens', () => {
  it('are RFC 9068 JWTs without a name', () =>
    withAccountsServer(async ({ clock, keys, register }) => {
      const { access_token, account } = await register('alice')
      const seconds = clock.nowMs / 1000
      const kid = keys.current().signing.kid
      expect(decodeProtectedHeader(access_token)).to.deep.equal({
        typ: 'at+jwt',
        alg: 'ES256',
        kid,
      })
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
        exp: seconds + 86_400,
      })
    }))

  it('are refused without a signature, whatever the header calls that', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      const header = decodeProtectedHeader(access_token)
      for (const alg of ['none', 'None', 'nOnE', '']) {
        const token = unsigned({ ...header, alg }, decodeJwt(access_token))
        expect(await codeOf(registry, token)).to.equal('token-invalid')
        expect(await codeOf(registry, `${token}AAAA`)).to.equal('token-invalid')
      }
    }))

  it('are refused when signed with the public key as a shared secret', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      const { verifying, jwks } = registry.keys.current()
      const [publicKey] = verifying.values()
      const secrets = [
        await exportSPKI(publicKey as SigningKey),
        JSON.stringify(jwks.keys[0]),
        JSON.stringify(jwks),
      ]
      const header = { ...decodeProtectedHeader(access_token), alg: 'HS256' }
      for (const secret of secrets) {
        const body = unsigned(header, decodeJwt(access_token)).slice(0, -1)
        const mac = createHmac('sha256', secret).update(body).digest('base64url')
        expect(await codeOf(registry, `${body}.${mac}`)).to.equal('token-invalid')
      }
    }))

  it('are taken until five seconds after their end', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      const endMs = registry.clock.nowMs + 86_400_000
      registry.clock.nowMs = endMs + 4999
      expect(await codeOf(registry, access_token)).to.equal('ok')
      registry.clock.nowMs = endMs + 6000
      expect(await codeOf(registry, access_token)).to.equal('token-expired')
    }))

  it('are refused with a word about the clock when it was set back', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      registry.clock.nowMs -= 5000
      expect(await codeOf(registry, access_token)).to.equal('ok')
      registry.clock.nowMs -= 3_600_000
      const { status, json } = await registry.call('GET', '/api/v1/auth/me', {
        token: access_token,
      })
      expect(status).to.equal(401)
      expect(json.detail).to.include('the clock of the accounts server may be wrong')
    }))

  const wrongClaims: [what: string, claims: Record<string, unknown>][] = [
    ['another issuer', { iss: 'https://evil.example' }],
    ['another audience', { aud: 'https://evil.example' }],
    ['a list of audiences with us in it', { aud: [issuer, 'https://evil.example'] }],
    ['a list of us alone', { aud: [issuer] }],
    ['no audience', { aud: undefined }],
    ['no session', { sid: undefined }],
    ['no id', { jti: undefined }],
    ['no subject', { sub: undefined }],
    ['no end', { exp: undefined }],
    ['no beginning', { iat: undefined }],
    ['an end that is a text', { exp: '99999999999' }],
    ['an end with a fraction', { exp: Date.UTC(2026, 0, 15, 13) / 1000 + 0.5 }],
    ['an end that never comes', { exp: 1e308 }],
    ['an end in ten years', { exp: 2_100_000_000 }],
    ['a negative end', { exp: -1 }],
    ['a beginning in an hour', { iat: Date.UTC(2026, 0, 15, 13) / 1000 }],
    ['a beginning of nothing', { iat: null }],
    ['a time before which it is nothing', { nbf: Date.UTC(2026, 0, 15, 13) / 1000 }],
    ['the account of somebody else', { sub: '0190d5a8-4c1e-7cc1-8d11-0123456789ab' }],
    ['a session that is an object', { sid: { $ne: null } }],
  ]
  it('are refused with claims that we would not make', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      expect(await codeOf(registry, await forge(registry, access_token))).to.equal('ok')
      for (const [what, claims] of wrongClaims) {
        const token = await forge(registry, access_token, claims)
        expect(await codeOf(registry, token), what).to.match(/^token-(invalid|expired)$/)
      }
    }))

  it('are refused when of another type', () =>
    withAccountsServer(async registry => {
      const { access_token, refresh_token } = await registry.register('alice')
      for (const typ of ['JWT', 'id_token', 'at+jwt2', undefined]) {
        const token = await forge(registry, access_token, {}, { typ })
        expect(await codeOf(registry, token), typ).to.equal('token-invalid')
      }
      expect(await codeOf(registry, refresh_token)).to.equal('token-invalid')
    }))

  it('are refused when a byte is changed, or a part is cut, added or padded', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      const [head = '', body = '', signature = ''] = access_token.split('.')
      const flip = (text: string) => (text[5] === 'A' ? 'B' : 'A')
      const changed = (text: string) => text.slice(0, 5) + flip(text) + text.slice(6)
      const wrong = [
        `${changed(head)}.${body}.${signature}`,
        `${head}.${changed(body)}.${signature}`,
        `${head}.${body}.${changed(signature)}`,
        access_token.slice(0, -3),
        `${head}.${body}`,
        `${head}.${body}.${signature}.${signature}`,
        `${head}.${body}.`,
        `${head}.${body}.${signature}==`,
        `${access_token}${'A'.repeat(4096)}`,
        '..',
        'x',
      ]
      for (const token of wrong) expect(await codeOf(registry, token)).to.equal('token-invalid')
    }))

  it('are not looked at when they are too long', () =>
    withAccountsServer(
      async registry => {
        const { access_token } = await registry.register('alice')
        expect(await codeOf(registry, access_token)).to.equal('token-invalid')
      },
      { limits: { maxTokenChars: 200 } },
    ))

  it('are refused with a key name that is a path, a query, or a word of the language', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      const names = [
        '../../etc/passwd',
        "' OR 1=1--",
        'a\u0000b',
        '__proto__',
        'constructor',
        'k'.repeat(2000),
        7,
        null,
        ['x'],
      ]
      for (const kid of names) {
        const header = { ...decodeProtectedHeader(access_token), kid }
        const signature = access_token.split('.')[2] ?? ''
        const token = unsigned(header, decodeJwt(access_token), signature)
        expect(await codeOf(registry, token), String(kid)).to.equal('token-invalid')
      }
      expect(registry.logged.filter(({ level }) => level === 'error')).to.deep.equal([])
    }))

  it('are refused with a key of their own, and nothing is fetched', async () => {
    let asked = 0
    const trap = createServer((_, res) => {
      asked++
      res.end('{}')
    })
    await new Promise<void>(resolve => trap.listen(0, '127.0.0.1', resolve))
    try {
      const url = `http://127.0.0.1:${(trap.address() as AddressInfo).port}/keys`
      await withAccountsServer(async registry => {
        const { access_token } = await registry.register('alice')
        const { jwk, privateKey } = await makeSigningKey()
        const headers: Record<string, unknown>[] = [
          { jwk },
          { jwk, kid: jwk.kid },
          { jku: url },
          { x5u: url, kid: jwk.kid },
          { x5c: ['MIIB'] },
        ]
        for (const header of headers) {
          const token = await forge(registry, access_token, {}, header, privateKey)
          expect(await codeOf(registry, token), JSON.stringify(header)).to.equal('token-invalid')
        }
        const header = { ...decodeProtectedHeader(access_token), crit: ['x'], x: 1 }
        const critical = await new SignJWT(decodeJwt(access_token))
          .setProtectedHeader({ ...header, alg: 'ES256' })
          .sign(registry.keys.current().signing.key, { crit: { x: true } })
        expect(await codeOf(registry, critical)).to.equal('token-invalid')
      })
      expect(asked).to.equal(0)
    } finally {
      trap.close()
    }
  })

  it('of a retired key are taken, those of a deleted one are not', async () => {
    const keys = await makeKeys()
    await withAccountsServer(
      async registry => {
        const { access_token } = await registry.register('alice')
        const old = keys.set
        const { kid, privateKey, publicKey, jwk } = await makeSigningKey()
        const both: KeySet = {
          ...old,
          signing: { kid, alg: 'ES256', key: privateKey },
          verifying: new Map([...old.verifying, [kid, publicKey]]),
          jwks: { keys: [...old.jwks.keys, jwk] },
        }
        keys.set = both
        expect(await codeOf(registry, access_token)).to.equal('ok')
        const published = await registry.call('GET', '/.well-known/jwks.json')
        expect(published.json.keys).to.have.length(2)
        expect(published.headers['cache-control']).to.equal('public, max-age=300')
        expect(published.text).not.to.include('"d"')
        const fresh = await registry.call('POST', `${auth}/refresh`, { token: access_token })
        expect(decodeProtectedHeader(fresh.json.access_token).kid).to.equal(kid)

        keys.set = { ...both, verifying: new Map([[kid, publicKey]]), jwks: { keys: [jwk] } }
        expect(await codeOf(registry, access_token)).to.equal('token-invalid')
        expect(await codeOf(registry, fresh.json.access_token)).to.equal('ok')
      },
      { keys },
    )
  })

  it('are asked for where there are none, and named where the header is no Bearer', () =>
    withAccountsServer(async ({ call }) => {
      for (const headers of [{}, { Authorization: 'Basic YTpi' }, { Authorization: 'Bearer' }]) {
        const answer = await call('GET', me, { headers: headers as Record<string, string> })
        expect(answer.status).to.equal(401)
        expect(answer.json.code).to.equal('token-missing')
        expect(answer.headers['www-authenticate']).to.equal('Bearer realm="registry"')
      }
    }))
})
