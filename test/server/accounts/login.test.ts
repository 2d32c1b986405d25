import { expect } from 'chai'
import { request } from 'node:http'
import type { AccountStore } from '../../../src/server/accounts/account-store.ts'
import { maxWaitingHashes } from '../../../src/server/accounts/hash-queue.ts'
import { createPasswords } from '../../../src/server/accounts/passwords.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { cheapHashing, password, type Registry, withRegistry } from './harness.ts'

const auth = '/api/v1/auth'
const minute = 60_000

const logIn = ({ call }: Registry, username: unknown, secret: unknown = password, headers = {}) =>
  call('POST', `${auth}/login`, { body: { username, password: secret }, headers })

/** The status, for a login from an address of our choice. */
function logInFrom(base: string, localAddress: string, body: object): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' }
    const asked = request(`${base}${auth}/login`, { method: 'POST', localAddress, headers })
    asked.on('error', reject).on('response', answer => {
      answer.resume()
      resolve(answer.statusCode)
    })
    asked.end(JSON.stringify(body))
  })
}

describe('login', () => {
  it('takes the user name in any case, or the address', () =>
    withRegistry(async registry => {
      await registry.register('Alice')
      for (const name of ['Alice', 'aLICE', 'alice@STUDIO.example']) {
        expect((await logIn(registry, name)).status).to.equal(200)
      }
      expect(await registry.audited('login.ok')).to.have.length(3)
    }))

  it('answers byte for byte the same for an unknown name, a wrong password and a disabled account', () =>
    withRegistry(async registry => {
      const { account } = await registry.register('alice')
      await registry.register('bob')
      await registry.store.setDisabled(account.id, 1)
      const answers = [
        await logIn(registry, 'nobody', 'wrong'),
        await logIn(registry, 'bob', 'wrong'),
        await logIn(registry, 'alice', 'wrong'),
        await logIn(registry, "' OR 1=1--", 'wrong'),
        await logIn(registry, 'nobody', "' OR '1'='1"),
      ].map(({ status, headers: { date: _, ...headers }, text }) => ({
        status,
        headers,
        text: text.replace(/urn:uuid:[0-9a-f-]{36}/, ''),
      }))
      for (const answer of answers) expect(answer).to.deep.equal(answers[0])
      expect(answers[0]?.status).to.equal(401)
      expect(await registry.audited('login.failed')).to.have.length(5)
    }))

  it('keeps nothing readable of a name that nobody has: it may be the password', async () => {
    const keys: string[] = []
    const wrap = (store: AccountStore): AccountStore => ({
      ...store,
      addFailure: (key, ...rest) => (keys.push(key), store.addFailure(key, ...rest)),
    })
    await withRegistry(
      async registry => {
        await registry.register('alice')
        for (const name of ['hunter22', 'hunter22', 'alice']) await logIn(registry, name, 'wrong')
      },
      { wrap },
    )
    expect(keys).to.have.length(3)
    expect(keys[0]).to.equal(keys[1]).and.not.include('hunter22')
    expect(keys[2]).to.equal('alice')
  })

  it('says that the account is disabled only to whoever knows the password', () =>
    withRegistry(async registry => {
      const { account } = await registry.register('alice')
      await registry.store.setDisabled(account.id, 1)
      const answer = await logIn(registry, 'alice')
      expect([answer.status, answer.json.code]).to.deep.equal([403, 'account-disabled'])
      expect(await registry.audited('login.disabled')).to.have.length(1)
    }))

  it('does the same work for an unknown name as for a wrong password', async () => {
    const real = createPasswords(cheapHashing)
    let verified = 0
    const passwords = {
      ...real,
      verify: (secret: string, hash: string | null) => {
        verified++
        return real.verify(secret, hash)
      },
    }
    await withRegistry(
      async registry => {
        await registry.register('alice')
        for (const name of ['alice', 'nobody']) {
          verified = 0
          await logIn(registry, name, 'wrong')
          expect(verified, name).to.equal(1)
        }
      },
      { passwords },
    )
  })

  it('makes a better hash of the password when the parameters have changed', async () => {
    let better = false
    const [old, fresh] = [
      createPasswords(cheapHashing),
      createPasswords({ ...cheapHashing, passwordHashPasses: 2 }),
    ]
    const passwords = {
      hash: (secret: string) => (better ? fresh : old).hash(secret),
      verify: old.verify,
      isOutdated: (hash: string) => (better ? fresh : old).isOutdated(hash),
    }
    await withRegistry(
      async registry => {
        await registry.register('alice')
        better = true
        const hashOf = async () => (await registry.store.findAccount('alice'))?.passwordHash
        expect(await hashOf()).to.include('t=1')
        expect((await logIn(registry, 'alice', 'wrong')).status).to.equal(401)
        expect(await hashOf()).to.include('t=1')
        expect((await logIn(registry, 'alice')).status).to.equal(200)
        expect(await hashOf()).to.include('t=2')
        expect((await logIn(registry, 'alice')).status).to.equal(200)
      },
      { passwords },
    )
  })

  it('makes the eleventh try wait, the right password too, and leaves sessions alone', () =>
    withRegistry(async registry => {
      const { access_token, refresh_token } = await registry.register('alice')
      for (let count = 0; count < 10; count++) {
        expect((await logIn(registry, 'alice', 'wrong')).status).to.equal(401)
      }
      const refused = await logIn(registry, 'alice')
      expect([refused.status, refused.json.code]).to.deep.equal([429, 'rate-limited'])
      expect(refused.headers['retry-after']).to.equal('30')
      expect(refused.json.retry_after).to.equal(30)
      const token = access_token
      expect((await registry.call('GET', `${auth}/me`, { token })).status).to.equal(200)
      const body = { refresh_token }
      expect((await registry.call('POST', `${auth}/refresh`, { body })).status).to.equal(200)
      registry.clock.nowMs += 30_000
      expect((await logIn(registry, 'alice')).status).to.equal(200)
      expect((await logIn(registry, 'alice', 'wrong')).status).to.equal(401)
    }))

  it('counts by user name and by email address apart, for accounts and for unknown names alike', () =>
    withRegistry(async registry => {
      await registry.register('alice')
      for (const [name, email] of [
        ['alice', 'alice@studio.example'],
        ['nobody', 'nobody@studio.example'],
      ]) {
        for (let count = 0; count < 10; count++) await logIn(registry, name, 'wrong')
        expect((await logIn(registry, name, 'wrong')).status).to.equal(429)
        expect((await logIn(registry, email, 'wrong')).status).to.equal(401)
      }
    }))

  it('lets no more tries through when many come at once', () =>
    withRegistry(
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

  it('lets an account in from an address at which many other logins failed', () =>
    withRegistry(async registry => {
      await registry.register('alice')
      await registry.register('bob')
      for (let count = 0; count < 10; count++) await logIn(registry, 'bob', 'wrong')
      for (let count = 0; count < 40; count++) {
        // None of these headers is trusted here.
        const headers = { 'X-Forwarded-For': `192.0.2.${count}`, 'X-Real-IP': `192.0.2.${count}` }
        expect((await logIn(registry, `nobody${count}`, 'wrong', headers)).status).to.equal(401)
      }
      expect((await logIn(registry, 'alice')).status).to.equal(200)
      expect((await logIn(registry, 'bob')).status).to.equal(429)
    }))

  it('counts every loopback address as one', function () {
    // Others have one loopback address alone.
    if (process.platform !== 'linux') skipBecause(this, 'needs 127.0.0.2 and its like')
    return withRegistry(async registry => {
      await registry.register('alice')
      const from = (localAddress: string, secret: string) =>
        logInFrom(registry.base, localAddress, { username: 'alice', password: secret })
      for (let count = 0; count < 10; count++) {
        expect(await from(`127.0.0.${2 + count}`, 'wrong')).to.equal(401)
      }
      expect(await from('127.0.0.20', password)).to.equal(429)
      expect((await registry.audited('login.failed')).map(({ address }) => address)).to.include(
        '127.0.0.11',
      )
    })
  })

  describe('under attack from elsewhere', () => {
    const settings = { trustedProxies: ['127.0.0.1'], limits: { maxLoginFailures: 2 } }
    const logInAt = (registry: Registry, address: string, secret = password, name = 'alice') =>
      logIn(registry, name, secret, { 'X-Forwarded-For': address })
    /** Wrong passwords from so many addresses, two each. */
    const attack = async (registry: Registry, addresses: number, name = 'alice') => {
      for (let at = 0; at < addresses * 2; at++) {
        await logInAt(registry, `198.51.100.${Math.floor(at / 2)}`, 'wrong', name)
      }
    }

    it('lets the owner in from any address while one address alone fails', () =>
      withRegistry(async registry => {
        await registry.register('alice')
        await attack(registry, 1)
        expect((await logInAt(registry, '198.51.100.0')).status).to.equal(429)
        expect((await logInAt(registry, '192.0.2.1')).status).to.equal(200)
      }, settings))

    it('refuses new addresses when many fail, and lets in those that logged in before', () =>
      withRegistry(async registry => {
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

    it('refuses an unknown name alike', () =>
      withRegistry(async registry => {
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

    it('forgets: no wait lasts longer than a quarter of an hour', () =>
      withRegistry(async registry => {
        await registry.register('alice')
        // A day of tries at every chance.
        for (let at = 0; at < 200; at++) {
          await logInAt(registry, `198.51.100.${at}`, 'wrong')
          registry.clock.nowMs += 7 * minute
        }
        registry.clock.nowMs += 15 * minute
        expect((await logInAt(registry, '192.0.2.2')).status).to.equal(200)
      }, settings))
  })

  it('records no more than thirty refusals of an address in five minutes, and then goes on', () =>
    withRegistry(async registry => {
      for (let count = 0; count < 35; count++) await logIn(registry, `nobody${count}`, 'wrong')
      expect(await registry.audited('login.failed')).to.have.length(30)
      registry.clock.nowMs += 5 * minute
      await logIn(registry, 'nobody', 'wrong')
      expect(await registry.audited('login.failed')).to.have.length(31)
    }))

  it('counts no success', () =>
    withRegistry(async registry => {
      await registry.register('alice')
      for (let count = 0; count < 35; count++) {
        expect((await logIn(registry, 'alice')).status).to.equal(200)
      }
    }))

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
      await withRegistry(
        async registry => {
          for (const name of ['greedy', 'alice', 'bob']) await registry.register(name)
          const surplus = 20
          // Each with a connection of its own.
          const from = (body: object) => logInFrom(registry.base, '127.0.0.1', body)
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

    it('lets other accounts in while one account fills it', () =>
      during(() => ({ username: 'greedy', password })))

    it('lets accounts in that know the address while made-up names fill it', () =>
      during(at => ({ username: `nobody${at}`, password: 'wrong' })))
  })

  it('knows nobody by what means something to a database', () =>
    withRegistry(async registry => {
      await registry.register('alice')
      const names = ["alice' --", 'al%', 'al_ce', 'alice"; DROP TABLE accounts; --', 'a*', '%']
      for (const name of names) expect((await logIn(registry, name)).status).to.equal(401)
      expect(await registry.store.countAccounts()).to.equal(1)
    }))
})

describe('a store that fails', () => {
  it('is a 503 to the client and its reason to the log, and nothing ends', () =>
    withRegistry(
      async registry => {
        const { access_token: token } = await registry.register('alice')
        failing.now = true
        const answers = [
          await registry.call('GET', `${auth}/me`, { token }),
          await logIn(registry, 'alice'),
          await registry.call('GET', '/readyz'),
        ]
        for (const answer of answers) {
          expect([answer.status, answer.json.code]).to.deep.equal([503, 'storage-unavailable'])
          expect(answer.headers['retry-after']).to.equal('5')
          expect(answer.text).not.to.include('/secret/path')
        }
        expect((await registry.call('GET', '/healthz')).json).to.deep.equal({ status: 'ok' })
        failing.now = false
        expect((await registry.call('GET', `${auth}/me`, { token })).status).to.equal(200)
        const [line] = registry.logged.filter(({ level }) => level === 'error')
        expect(line?.fields.err.message).to.include('/secret/path')
        expect(line?.fields.request_id).to.equal(
          answers[0]?.json.instance.slice('urn:uuid:'.length),
        )
      },
      { wrap: failing.wrap },
    ))
})

const failing = {
  now: false,
  wrap: <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return async (...args: unknown[]) => {
          const { ServiceError } = await import('../../../src/lib/util/errors.ts')
          if (failing.now) throw new ServiceError('storage_full', '/secret/path is full')
          return member.apply(target, args)
        }
      },
    }),
}
