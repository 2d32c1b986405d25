import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import type { JWK } from 'jose'
import { ok } from '../../../src/lib/util/result.ts'
import { defaultAuthLimits } from '../../../src/server/auth/limits.ts'
import { parseKeySet } from '../../../src/server/auth/oauth/key-set.ts'
import { readToken } from '../../../src/server/auth/oauth/token-form.ts'
import { createTokenVerifier } from '../../../src/server/auth/oauth/verify-token.ts'
import { encode, newKey, publicOf, sign, signAs } from '../../helpers/openid.ts'

const claims = {
  iss: 'https://login.example',
  aud: 'https://studio.example/mcp',
  sub: 'ada',
  iat: 1000,
  exp: 2000,
}

describe('readToken', () => {
  let key: JWK
  before(async () => {
    key = await newKey('k')
  })

  const read = (token: string) => readToken(token, { maxAccessTokenChars: 2000 })

  it('reads what the token says of itself, whose type is spelled in any way that is allowed', () => {
    for (const typ of ['at+jwt', 'AT+JWT', 'application/at+jwt']) {
      const form = read(sign(claims, key, { typ }))
      expect(form).to.deep.equal({ ok: true, value: { alg: 'ES256', kid: 'k', claims } })
    }
    expect(read(sign(claims, key, { x5t: 'a name, not a key' })).ok).to.equal(true)
  })

  const headers: [what: string, header: object][] = [
    ['another type', { typ: 'application/jwt' }],
    ['a type that is a list', { typ: ['at+jwt'] }],
    ['a symmetric algorithm', { alg: 'HS256' }],
    ['an algorithm that is not listed', { alg: 'RSA1_5' }],
    ['an algorithm that is no text', { alg: 1 }],
    ['a certificate', { x5c: ['MII'] }],
    ['an empty list of demands', { crit: [] }],
    ['a key id that is no text', { kid: 1 }],
    ['a very long key id', { kid: 'k'.repeat(513) }],
  ]
  for (const [what, header] of headers) {
    it(`refuses a header with ${what}`, () => {
      expect(read(sign(claims, key, header)).ok).to.equal(false)
    })
  }

  const nested = `{"a":${'['.repeat(40)}${']'.repeat(40)}}`
  for (const body of ['[]', '{', '\ufeff{}', '{"\u00ff', nested]) {
    it(`refuses ${JSON.stringify(body.slice(0, 12))} as claims and as header`, () => {
      const header = { alg: 'ES256', typ: 'at+jwt' }
      expect(read(signAs(header, body, key)).ok).to.equal(false)
      expect(read(`${encode(body)}.${encode('{}')}.AAAA`).ok).to.equal(false)
    })
  }
})

describe('a token verifier', () => {
  let key: JWK

  before(async () => {
    key = await newKey('k')
  })

  function verifierOf(keys: readonly JWK[], limits = {}) {
    const set = parseKeySet({ keys: keys.map(publicOf) }, defaultAuthLimits)
    if (!set.ok) throw new Error(set.failure)
    return createTokenVerifier({
      keys: {
        mark: () => 'mark',
        retryAfterSeconds: () => 1,
        close() {},
        async find(alg, kid) {
          const found = await set.value.find(alg, kid)
          return found === null
            ? { ok: false, failure: 'unknown' }
            : ok({ key: found, mark: 'mark' })
        },
      },
      rules: () => ({ issuer: claims.iss, audience: claims.aud }),
      limits: { ...defaultAuthLimits, ...limits },
      clock: { now: () => 1_500_000 },
    })
  }

  const kindOf = async (verdict: ReturnType<ReturnType<typeof verifierOf>['verify']>) => {
    const settled = await verdict
    return settled.ok ? 'good' : settled.failure.kind
  }

  it('refuses a good token with any one character changed, left out or added', async () => {
    const verifier = verifierOf([key])
    const token = sign(claims, key)
    expect(await kindOf(verifier.verify(token))).to.equal('good')
    const place = fc.integer({ min: 0, max: token.length - 1 })
    const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n\0é'
    const character = fc.constantFrom(...characters, '')
    const length = fc.constantFrom(0, 1)
    await fc.assert(
      fc.asyncProperty(place, character, length, async (at, written, cut) => {
        const changed = token.slice(0, at) + written + token.slice(at + cut)
        fc.pre(changed !== token)
        expect(await kindOf(verifier.verify(changed))).to.equal('unproven')
      }),
      { numRuns: 300 },
    )
  })

  it('remembers a good token, and no more of them than it may', async () => {
    const verifier = verifierOf([key], { maxVerifiedTokens: 1 })
    const [one = '', other = ''] = ['a', 'b'].map(sub => sign({ ...claims, sub }, key))
    await verifier.verify(one)
    expect(verifier.verify(one)).not.to.be.a('promise')
    await verifier.verify(other)
    expect(verifier.verify(one)).to.be.a('promise')
  })

  it('refuses an RSA key of 1024 bits', async () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const rsa = { ...weak.privateKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256' } as JWK
    expect(await kindOf(verifierOf([rsa]).verify(sign(claims, rsa)))).to.equal('unproven')
    const strong = await newKey('k', 'RS256')
    expect(await kindOf(verifierOf([strong]).verify(sign(claims, strong)))).to.equal('good')
  })
})
