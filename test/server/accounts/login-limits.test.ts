import { expect } from 'chai'
import { request } from 'node:http'
import { maxWaitingHashes } from '../../../src/server/accounts/hash-queue.ts'
import { createPasswords } from '../../../src/server/accounts/password-hashing.ts'
import {
  auth,
  logIn,
  cheapHashing,
  password,
  sharedAccountsServer,
  type AccountsServer,
  withAccountsServer,
} from './harness.ts'

const minute = 60_000

/** The status, for a login over a connection of its own. */
function logInAlone(base: string, body: object): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' }
    const asked = request(`${base}${auth}/login`, { method: 'POST', agent: false, headers })
    asked.on('error', reject).on('response', answer => {
      answer.resume()
      resolve(answer.statusCode)
    })
    asked.end(JSON.stringify(body))
  })
}

describe('login rate limiting', () => {
  const registry = sharedAccountsServer()

  it('refuses the eleventh try, the right password too, and keeps sessions', async () => {
    const { access_token: token, refresh_token } = await registry.register('alice')
    for (let count = 0; count < 10; count++) {
      expect((await logIn(registry, 'alice', 'wrong')).status).to.equal(401)
    }
    const refused = await logIn(registry, 'alice')
    expect([refused.status, refused.json.code]).to.deep.equal([429, 'rate-limited'])
    expect(refused.headers['retry-after']).to.equal('30')
    expect(refused.json.retry_after).to.equal(30)
    expect((await registry.call('GET', `${auth}/me`, { token })).status).to.equal(200)
    const body = { refresh_token }
    expect((await registry.call('POST', `${auth}/refresh`, { body })).status).to.equal(200)
    registry.clock.nowMs += 30_000
    expect((await logIn(registry, 'alice')).status).to.equal(200)
    expect((await logIn(registry, 'alice', 'wrong')).status).to.equal(401)
  })

  it('counts user names and email addresses separately, known or not, whatever else failed', async () => {
    await registry.register('bob')
    await registry.register('carol')
    for (const [name, email] of [
      ['bob', 'bob@studio.example'],
      ['nobody', 'nobody@studio.example'],
    ]) {
      // None of these headers is trusted here.
      const headers = { 'X-Forwarded-For': '192.0.2.1', 'X-Real-IP': '192.0.2.1' }
      for (let count = 0; count < 10; count++) await logIn(registry, name, 'wrong', headers)
      expect((await logIn(registry, name, 'wrong')).status).to.equal(429)
      expect((await logIn(registry, email, 'wrong')).status).to.equal(401)
    }
    expect((await logIn(registry, 'carol')).status).to.equal(200)
  })

  it('records at most thirty refusals of an address in five minutes', async () => {
    registry.clock.nowMs += 5 * minute
    const before = (await registry.audited('login.failed')).length
    for (let count = 0; count < 35; count++) await logIn(registry, `nobody${count}`, 'wrong')
    expect(await registry.audited('login.failed')).to.have.length(before + 30)
    registry.clock.nowMs += 5 * minute
    await logIn(registry, 'nobody', 'wrong')
    expect(await registry.audited('login.failed')).to.have.length(before + 31)
  })

  it('allows no more tries when many arrive at once', () =>
    withAccountsServer(
      async registry => {
        await registry.register('alice')
        const all = await Promise.all(
          Array.from({ length: 40 }, () => logIn(registry, 'alice', 'wrong')),
        )
        expect(all.filter(({ status }) => status === 401)).to.have.length(10)
        expect(all.filter(({ status }) => status === 429)).to.have.length(30)
      },
      { limits: { maxHashes: 1 } },
    ))

  describe('under attack from elsewhere', () => {
    const settings = { trustedProxies: ['127.0.0.1'], limits: { maxLoginFailures: 2 } }
    const logInAt = (
      registry: AccountsServer,
      address: string,
      secret = password,
      name = 'alice',
    ) => logIn(registry, name, secret, { 'X-Forwarded-For': address })
    /** Wrong passwords from so many addresses, two each. */
    const attack = async (registry: AccountsServer, addresses: number, name = 'alice') => {
      for (let at = 0; at < addresses * 2; at++) {
        await logInAt(registry, `198.51.100.${Math.floor(at / 2)}`, 'wrong', name)
      }
    }

    it('accepts the owner from another address while one address fails', () =>
      withAccountsServer(async registry => {
        await registry.register('alice')
        await attack(registry, 1)
        expect((await logInAt(registry, '198.51.100.0')).status).to.equal(429)
        expect((await logInAt(registry, '192.0.2.1')).status).to.equal(200)
      }, settings))

    it('refuses new addresses when many fail, and accepts known ones', () =>
      withAccountsServer(async registry => {
        await registry.register('alice')
        expect((await logInAt(registry, '192.0.2.1')).status).to.equal(200)
        await attack(registry, 10)
        const refused = await logInAt(registry, '192.0.2.2')
        expect([refused.status, refused.headers['retry-after']]).to.deep.equal([429, '30'])
        expect((await logInAt(registry, '192.0.2.1')).status).to.equal(200)
        // That success gives strangers no further tries.
        expect((await logInAt(registry, '192.0.2.3', 'wrong')).status).to.equal(429)
        // A known address has its own count all the same.
        for (let at = 0; at < 2; at++) await logInAt(registry, '192.0.2.1', 'wrong')
        expect((await logInAt(registry, '192.0.2.1')).status).to.equal(429)
      }, settings))

    it('refuses an unknown name in the same way', () =>
      withAccountsServer(async registry => {
        await registry.register('alice')
        await attack(registry, 10, 'alice')
        await attack(registry, 10, 'nobody')
        const [known, unknown] = [
          await logInAt(registry, '192.0.2.2', 'wrong', 'alice'),
          await logInAt(registry, '192.0.2.2', 'wrong', 'nobody'),
        ]
        expect([known.status, unknown.status]).to.deep.equal([429, 429])
        expect(known.json.detail).to.equal(unknown.json.detail)
        expect(known.headers['retry-after']).to.equal(unknown.headers['retry-after'])
      }, settings))
  })

  describe('with a full queue of passwords to hash', () => {
    /** Floods until logins are refused, logs two others in, then lets hashing go on. */
    async function during(
      flood: (at: number) => { readonly username: string; readonly password: string },
    ) {
      const gate = Promise.withResolvers<void>()
      const real = createPasswords(cheapHashing)
      const passwords = {
        ...real,
        verify: async (secret: string, hash: string | null) => {
          await gate.promise
          return real.verify(secret, hash)
        },
      }
      await withAccountsServer(
        async registry => {
          for (const name of ['greedy', 'alice', 'bob']) await registry.register(name)
          const surplus = 20
          const from = (body: object) => logInAlone(registry.base, body)
          let refused = 0
          let reached: (() => void) | null = null
          // One is being hashed.
          const flooding = Array.from({ length: 1 + maxWaitingHashes + surplus }, async (_, at) => {
            if ((await from(flood(at))) !== 503) return
            refused++
            reached?.()
          })
          const untilRefused = (count: number) =>
            new Promise<void>(resolve => {
              reached = () => void (refused >= count && resolve())
              reached()
            })
          await untilRefused(surplus)
          const started = ['alice', 'bob'].map(username => from({ username, password }))
          await untilRefused(surplus + started.length)
          gate.resolve()
          expect(await Promise.all(started)).to.deep.equal([200, 200])
          await Promise.all(flooding)
          expect(refused).to.equal(surplus + started.length)
        },
        { limits: { maxHashes: 1 }, passwords },
      )
    }

    it('accepts other accounts while one account fills it', () =>
      during(() => ({ username: 'greedy', password })))

    it('accepts known addresses while unknown names fill it', () =>
      during(at => ({ username: `nobody${at}`, password: 'wrong' })))
  })
})
