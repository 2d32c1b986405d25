import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import type { JWK } from 'jose'
import { ok } from '../../../../src/lib/util/result.ts'
import { defaultAuthLimits } from '../../../../src/server/auth/limits.ts'
import { parseKeySet } from '../../../../src/server/auth/oauth/key-set.ts'
import { createTokenVerifier } from '../../../../src/server/auth/oauth/verify-token.ts'
import { newKey, publicOf, sign } from '../../../helpers/openid.ts'

const claims = {
  iss: 'https://login.example',
  aud: 'https://studio.example/mcp',
  sub: 'ada',
  iat: 1000,
  exp: 2000,
}

describe('a token verifier', () => {
  let key: JWK
  let nowMs: number
  /** How often a signature had to be proven. */
  let proven: number
  let mark: string | null

  before(async () => {
    key = await newKey('k')
  })

  beforeEach(() => {
    nowMs = 1_500_000
    proven = 0
    mark = 'first'
  })

  function verifierOf(keys: readonly JWK[], limits = {}) {
    const set = parseKeySet({ keys: keys.map(publicOf) }, defaultAuthLimits)
    if (!set.ok) throw new Error(set.failure)
    return createTokenVerifier({
      keys: {
        mark: () => mark,
        retryAfterSeconds: () => 1,
        close() {},
        async find(alg, kid) {
          proven++
          const under = mark ?? ''
          const found = await set.value.find(alg, kid)
          return found === null
            ? { ok: false, failure: 'unknown' }
            : ok({ key: found, mark: under })
        },
      },
      rules: () => ({ issuer: claims.iss, audience: claims.aud }),
      limits: { ...defaultAuthLimits, ...limits },
      clock: { now: () => nowMs },
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
      { numRuns: 500 },
    )
  })

  it('has an answer to any text', async () => {
    const verifier = verifierOf([key])
    const part = fc.oneof(
      fc.base64String(),
      fc.string(),
      fc.json().map(text => Buffer.from(text).toString('base64url')),
    )
    const text = fc.array(part, { maxLength: 5 }).map(parts => parts.join('.'))
    await fc.assert(
      fc.asyncProperty(text, async sent => {
        expect(await kindOf(verifier.verify(sent))).to.equal('unproven')
      }),
      { numRuns: 500 },
    )
  })

  it('proves a token once, and looks at its time each time', async () => {
    const verifier = verifierOf([key])
    const token = sign(claims, key)
    for (let at = 0; at < 3; at++) expect(await kindOf(verifier.verify(token))).to.equal('good')
    expect(proven).to.equal(1)
    expect(verifier.verify(token)).not.to.be.a('promise')
    nowMs = 2_005_000
    expect(await kindOf(verifier.verify(token))).to.equal('unfit')
    expect(proven).to.equal(1)
  })

  it('proves it again when the keys are others, or too old to say', async () => {
    const verifier = verifierOf([key])
    const token = sign(claims, key)
    await verifier.verify(token)
    mark = 'second'
    expect(await kindOf(verifier.verify(token))).to.equal('good')
    expect(proven).to.equal(2)
    mark = null
    await verifier.verify(token)
    expect(proven).to.equal(3)
    mark = 'second'
    await verifier.verify(token)
    expect(proven).to.equal(3)
  })

  it('does not take a token as proven by keys that were gone when it was done', async () => {
    const verifier = verifierOf([key])
    const token = sign(claims, key)
    const verdict = verifier.verify(token)
    mark = 'second'
    await verdict
    await verifier.verify(token)
    expect(proven).to.equal(2)
  })

  for (const [maxVerifiedTokens, expected] of [
    [0, 6],
    [2, 4],
    [3, 3],
  ] as const) {
    it(`remembers ${maxVerifiedTokens} tokens when it may`, async () => {
      const verifier = verifierOf([key], { maxVerifiedTokens })
      const tokens = ['a', 'b', 'c'].map(sub => sign({ ...claims, sub }, key))
      for (const token of tokens) await verifier.verify(token)
      for (const token of tokens.toReversed()) await verifier.verify(token)
      expect(proven).to.equal(expected)
    })
  }

  it('does not remember what it refused', async () => {
    const verifier = verifierOf([key])
    const forged = sign({ ...claims, sub: 'root' }, await newKey('k'))
    for (let at = 0; at < 2; at++) {
      expect(await kindOf(verifier.verify(forged))).to.equal('unproven')
    }
    expect(proven).to.equal(2)
  })

  it('refuses an RSA key of 1024 bits', async () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const rsa = { ...weak.privateKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256' } as JWK
    expect(await kindOf(verifierOf([rsa]).verify(sign(claims, rsa)))).to.equal('unproven')
    const strong = await newKey('k', 'RS256')
    expect(await kindOf(verifierOf([strong]).verify(sign(claims, strong)))).to.equal('good')
  })

  it('takes Ed25519 by both of its names', async () => {
    const edwards = await newKey('k', 'Ed25519')
    const { alg: _, ...unnamed } = edwards
    const verifier = verifierOf([unnamed])
    for (const alg of ['EdDSA', 'Ed25519']) {
      expect(await kindOf(verifier.verify(sign(claims, edwards, { alg })))).to.equal('good')
    }
  })
})
