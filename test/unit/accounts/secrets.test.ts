import { expect } from 'chai'
import fc from 'fast-check'
import { findDuplicateMember } from '../../../src/server/accounts/request-json.ts'
import {
  createPasswords,
  parsePasswordHash,
} from '../../../src/server/accounts/password-hashing.ts'
import { createHashQueue, hashConcurrency } from '../../../src/server/accounts/hash-queue.ts'
import { createRefreshTokens } from '../../../src/server/accounts/refresh-tokens.ts'
import { isUuid } from '../../../src/lib/util/text.ts'
import { makeUuid } from '../../../src/server/accounts/uuid.ts'
import { makeKeys } from '../../server/accounts/harness.ts'

const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

describe('refresh tokens', () => {
  const claims = fc.record({
    sessionId: fc.uuid({ version: [4, 7] }),
    counter: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  })

  it('parse what they issue: 62 characters', async () => {
    const tokens = createRefreshTokens(await makeKeys())
    fc.assert(
      fc.property(claims, claim => {
        const token = tokens.issue(claim)
        expect(token).to.match(/^srt_[\w-]{58}$/)
        expect(tokens.parse(token)).to.deep.equal(claim)
        expect(tokens.issue(claim)).to.equal(token)
      }),
    )
  })

  it('refuse every other spelling and every changed character', async () => {
    const tokens = createRefreshTokens(await makeKeys())
    const token = tokens.issue({ sessionId: '0190d5a8-4c1e-7cc1-8d11-0123456789ab', counter: 7 })
    for (let at = 0; at < token.length; at++) {
      for (const character of base64url) {
        if (character === token[at]) continue
        const changed = token.slice(0, at) + character + token.slice(at + 1)
        expect(tokens.parse(changed), changed).to.equal(null)
      }
    }
    for (const other of ['', 'srt_', ` ${token}`, `${token}\n`, `${token}=`, token.toUpperCase()]) {
      expect(tokens.parse(other)).to.equal(null)
    }
  })

  it('refuse tokens of another registry, and those of a key that is gone', async () => {
    const keys = await makeKeys()
    const tokens = createRefreshTokens(keys)
    const claim = { sessionId: '0190d5a8-4c1e-7cc1-8d11-0123456789ab', counter: 0 }
    expect(tokens.parse(createRefreshTokens(await makeKeys()).issue(claim))).to.equal(null)
    const token = tokens.issue(claim)
    const later = { current: () => ({ ...keys.current(), refreshKeys: new Map() }) }
    expect(createRefreshTokens(later).parse(token)).to.equal(null)
  })
})

describe('findDuplicateMember', () => {
  it('finds none in what a program wrote, and the one that was added', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (value, name) => {
        expect(findDuplicateMember(JSON.stringify(value))).to.equal(null)
        const key = JSON.stringify(name)
        const twice = `{${key}:${JSON.stringify(value)}, ${key} : 1}`
        expect(findDuplicateMember(twice)).to.equal(name)
      }),
    )
  })
})

describe('makeUuid', () => {
  it('is version 7 and sorts by time', () => {
    const [early, late] = [makeUuid(1_700_000_000_000), makeUuid(1_700_000_000_001)]
    expect(early).to.match(/^018bcfe5-6800-7[0-9a-f]{3}-[89ab]/)
    expect(early < late).to.equal(true)
    expect(isUuid(early)).to.equal(true)
    expect(['', 'x', `${early} `, early.toUpperCase(), "' OR 1=1--"].some(isUuid)).to.equal(false)
  })
})

describe('passwords', () => {
  const cheap = { passwordHashBytes: 8 * 1024, passwordHashPasses: 1 }

  it('hash to a PHC string with a salt of its own, and know the password again', async () => {
    const passwords = createPasswords(cheap)
    const [one, two] = await Promise.all([
      passwords.hash('pass phrase'),
      passwords.hash('pass phrase'),
    ])
    expect(one)
      .to.match(/^\$argon2id\$v=19\$m=8,t=1,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
      .and.not.equal(two)
    expect(await passwords.verify('pass phrase', one)).to.equal(true)
    expect(await passwords.verify('pass phrasE', one)).to.equal(false)
    expect(await passwords.verify('pass phrase', null)).to.equal(false)
    expect(await passwords.verify('pass phrase', 'pass phrase')).to.equal(false)
  })

  it('use the parameters of OWASP by default, and call others outdated', async () => {
    const passwords = createPasswords({ passwordHashBytes: 19_922_944, passwordHashPasses: 2 })
    const hash = await passwords.hash('x')
    expect(hash).to.include('$m=19456,t=2,p=1$')
    expect(passwords.isOutdated(hash)).to.equal(false)
    const old = await createPasswords(cheap).hash('x')
    expect(passwords.isOutdated(old)).to.equal(true)
    expect(await passwords.verify('x', old)).to.equal(true)
  })

  it('take the forms that one person types on two systems for one password', async () => {
    const passwords = createPasswords(cheap)
    const hash = await passwords.hash('caf\u00e9 au lait')
    expect(await passwords.verify('cafe\u0301 au lait', hash)).to.equal(true)
  })

  const salt = 'A'.repeat(22)
  const tag = 'B'.repeat(43)
  const refused = [
    `$argon2id$v=19$m=19456,t=2,p=1$${salt}`,
    `$argon2id$v=19$m=9999999,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=19$m=7,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}\n`,
  ]
  for (const hash of refused) {
    it(`read no hash in ${JSON.stringify(hash)}`, () => {
      expect(parsePasswordHash(hash)).to.equal(null)
    })
  }
})

describe('createHashQueue', () => {
  it('hands on the slot of a job that fails', async () => {
    const queue = createHashQueue({ concurrency: 1, maxWaiting: 1 })
    const turn = { address: 'a', name: 'x', trusted: false }
    const failing = queue.run(turn, () => Promise.reject(new Error('on purpose')))
    const next = queue.run(turn, async () => 'done')
    expect((await failing.catch(error => error)).message).to.equal('on purpose')
    expect(await next).to.equal('done')
  })

  it('leaves a core to the others', () => {
    const cores = [1, 2, 8].map(count => hashConcurrency(0, count))
    expect(cores).to.deep.equal([1, 1, 7])
    expect(hashConcurrency(3, 8)).to.equal(3)
  })
})
