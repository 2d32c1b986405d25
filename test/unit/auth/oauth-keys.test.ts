import { expect } from 'chai'
import type { JWK } from 'jose'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { fail } from '../../../src/lib/util/result.ts'
import { defaultAuthLimits } from '../../../src/server/auth/limits.ts'
import { createKeySource, type KeySource } from '../../../src/server/auth/oauth/key-source.ts'
import { parseKeySet } from '../../../src/server/auth/oauth/key-set.ts'
import { newKey, publicOf } from '../../helpers/openid.ts'

const limits = {
  ...defaultAuthLimits,
  providerKeysFreshMs: 600_000,
  maxProviderKeysAgeMs: 3_600_000,
  unknownKeyCooldownMs: 5000,
  providerRetryMs: 1000,
  maxProviderRetryMs: 8000,
}

describe('the keys of a provider', () => {
  let first: JWK
  let second: JWK
  let nowMs: number
  let published: JWK[] | null
  let loads: number
  let warnings: number
  let source: KeySource

  before(async () => {
    first = await newKey('first')
    second = await newKey('second')
  })

  beforeEach(() => {
    nowMs = 1_000_000
    published = [first]
    loads = 0
    warnings = 0
    source = createKeySource({
      load: async () => {
        loads++
        if (published === null) return fail('it cannot be reached')
        return parseKeySet({ keys: published.map(publicOf) }, limits)
      },
      limits,
      ticks: { now: () => nowMs },
      log: { ...silentLogger, warn: () => warnings++ },
    })
  })

  const find = async (kid: string | undefined, alg = 'ES256') => {
    const found = await source.find(alg, kid)
    return found.ok ? 'found' : found.failure
  }

  it('are not asked for before they are needed, and then once', async () => {
    expect(loads).to.equal(0)
    expect(source.mark()).to.equal(null)
    const found = await Promise.all([find('first'), find('first'), find('first')])
    expect(found).to.deep.equal(['found', 'found', 'found'])
    expect(loads).to.equal(1)
    expect(source.mark()).to.be.a('string')
  })

  it('go on working for an hour while the provider is down', async () => {
    await find('first')
    published = null
    nowMs += limits.maxProviderKeysAgeMs - 1
    expect(await find('first')).to.equal('found')
    nowMs += 1
    expect(await find('first')).to.equal('unavailable')
  })

  it('leave a provider that is down alone, longer each time, and say so once', async () => {
    published = null
    const askedAt: number[] = []
    for (let second = 0; second < 60; second++) {
      const before = loads
      expect(await find('first')).to.equal('unavailable')
      if (loads > before) askedAt.push(second)
      nowMs += 1000
    }
    expect(askedAt).to.deep.equal([0, 1, 3, 7, 15, 23, 31, 39, 47, 55])
    expect(warnings).to.equal(1)
  })

  it('need no name as long as there is one that fits', async () => {
    expect(await find(undefined)).to.equal('found')
    published = [first, second]
    nowMs += limits.providerKeysFreshMs
    expect(await find(undefined)).to.equal('unknown')
  })
})

describe('parseKeySet', () => {
  const found = async (key: object, alg = 'ES256') => {
    const set = parseKeySet({ keys: [key] }, limits)
    return set.ok && (await set.value.find(alg, 'k')) !== null
  }

  it('takes a key for its own algorithm only', async () => {
    const key = publicOf(await newKey('k'))
    expect(await found(key)).to.equal(true)
    expect(await found({ ...key, alg: undefined })).to.equal(true)
    expect(await found(key, 'RS256')).to.equal(false)
    expect(await found(key, 'ES384')).to.equal(false)
    expect(await found({ ...key, alg: 'ES384' })).to.equal(false)
  })

  it('leaves out what must not verify a signature', async () => {
    const secret = await newKey('k')
    const key = publicOf(secret)
    expect(await found(secret)).to.equal(false)
    expect(await found(7 as unknown as object)).to.equal(false)
    expect(await found({ ...key, use: 'enc' })).to.equal(false)
    expect(await found({ ...key, use: undefined })).to.equal(true)
    expect(await found({ ...key, key_ops: ['sign'] })).to.equal(false)
    expect(await found({ ...key, x: 'AAAA' })).to.equal(false)
    expect(await found({ kty: 'oct', k: 'c2VjcmV0', kid: 'k', alg: 'HS256' }, 'HS256')).to.equal(
      false,
    )
  })

  it('takes Ed25519 by both of its names, and RSA', async () => {
    const edwards = { ...publicOf(await newKey('k', 'Ed25519')), alg: undefined }
    expect(await found(edwards, 'Ed25519')).to.equal(true)
    expect(await found(edwards, 'EdDSA')).to.equal(true)
    const rsa = { ...publicOf(await newKey('k', 'RS256')), alg: undefined }
    expect(await found(rsa, 'RS256')).to.equal(true)
    expect(await found(rsa, 'PS256')).to.equal(true)
  })

  const tooMany = { keys: Array(limits.maxProviderKeys + 1).fill(null) }
  for (const document of [null, [], {}, { keys: 'x' }, tooMany]) {
    it(`refuses ${JSON.stringify(document).slice(0, 30)}`, () => {
      expect(parseKeySet(document, limits).ok).to.equal(false)
    })
  }
})
