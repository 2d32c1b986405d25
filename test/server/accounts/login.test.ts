import { expect } from 'chai'
import type { AccountStore } from '../../../src/server/accounts/account-store.ts'
import { createPasswords } from '../../../src/server/accounts/password-hashing.ts'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { auth, logIn, cheapHashing, sharedAccountsServer, withAccountsServer } from './harness.ts'

describe('login', () => {
  const registry = sharedAccountsServer()

  it('accepts the user name in any case, or the email address', async () => {
    const { account } = await registry.register('Alice')
    for (const name of ['Alice', 'aLICE', 'alice@STUDIO.example']) {
      expect((await logIn(registry, name)).status).to.equal(200)
    }
    expect(await registry.audited('login.ok', account.id)).to.have.length(3)
  })

  it('returns identical bytes for an unknown name, a wrong password and a disabled account', async () => {
    const { account } = await registry.register('carol')
    await registry.register('bob')
    await registry.store.setDisabled(account.id, 1)
    const answers = [
      await logIn(registry, 'nobody', 'wrong'),
      await logIn(registry, 'bob', 'wrong'),
      await logIn(registry, 'carol', 'wrong'),
      await logIn(registry, 'nobody', "' OR '1'='1"),
    ].map(({ status, headers: { date: _, ...headers }, text }) => ({
      status,
      headers,
      text: text.replace(/urn:uuid:[0-9a-f-]{36}/, ''),
    }))
    for (const answer of answers) expect(answer).to.deep.equal(answers[0])
    expect(answers[0]?.status).to.equal(401)
    expect(await registry.audited('login.failed')).to.have.length(4)
  })

  it('reports a disabled account only for the right password', async () => {
    const { account } = await registry.register('dave')
    await registry.store.setDisabled(account.id, 1)
    const answer = await logIn(registry, 'dave')
    expect([answer.status, answer.json.code]).to.deep.equal([403, 'account-disabled'])
    expect(await registry.audited('login.disabled', account.id)).to.have.length(1)
  })

  it('stores no readable unknown name, which may be a password', async () => {
    const keys: string[] = []
    const wrap = (store: AccountStore): AccountStore => ({
      ...store,
      addFailure: (key, ...rest) => (keys.push(key), store.addFailure(key, ...rest)),
    })
    await withAccountsServer(
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

  it('verifies one hash for an unknown name, as for a wrong password', async () => {
    const real = createPasswords(cheapHashing)
    let verified = 0
    const passwords = {
      ...real,
      verify: (secret: string, hash: string | null) => {
        verified++
        return real.verify(secret, hash)
      },
    }
    await withAccountsServer(
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

  it('rehashes the password after the parameters change', async () => {
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
    await withAccountsServer(
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
})

describe('a store that fails', () => {
  it('returns 503 and logs the reason, and the server recovers', () =>
    withAccountsServer(
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
          if (failing.now) throw new ServiceError('storage_full', '/secret/path is full')
          return member.apply(target, args)
        }
      },
    }),
}
