import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { Passwords } from '../../../src/server/accounts/passwords.ts'
import type { AccountStore } from '../../../src/server/accounts/store.ts'
import {
  auth,
  cheap,
  logIn,
  outcome,
  sharedAccountsServer,
  openAccountsServer,
  withMethods,
} from './harness.ts'

describe('login', () => {
  const registry = sharedAccountsServer()

  it('accepts the user name in any case, or the email address, and says whose account it is', async () => {
    const { account } = await registry.register('Alice')
    for (const name of ['Alice', 'aLICE', 'alice@STUDIO.example']) {
      const answer = await logIn(registry, name)
      expect(answer.status).to.equal(200)
      expect(answer.json.account).to.deep.equal(account)
    }
  })

  it('returns identical bytes for an unknown name, a wrong password and a disabled account', async () => {
    const { account } = await registry.register('carol')
    await registry.register('bob')
    await registry.store.updateAccount(account.id, { disabledAtMs: 1 })
    const answers = [
      await logIn(registry, 'nobody', 'wrong'),
      await logIn(registry, 'bob', 'wrong'),
      await logIn(registry, 'carol', 'wrong'),
      await logIn(registry, 'nobody', "' OR '1'='1"),
    ].map(({ status, headers: { date: _, ...headers }, text }) => ({ status, headers, text }))
    for (const answer of answers) expect(answer).to.deep.equal(answers[0])
    expect(answers[0]?.status).to.equal(401)
    expect(await registry.audited('login.failed')).to.have.length(4)
  })

  it('reports a disabled account only for the right password', async () => {
    const { account } = await registry.register('dave')
    await registry.store.updateAccount(account.id, { disabledAtMs: 1 })
    expect(outcome(await logIn(registry, 'dave'))).to.deep.equal([403, 'account-disabled'])
    expect(await registry.audited('login.disabled', account.id)).to.have.length(1)
  })

  it('verifies one hash for an unknown name, as for a wrong password', async () => {
    let verified = 0
    class Counted extends Passwords {
      override verify(secret: string, hash: string | null) {
        verified++
        return super.verify(secret, hash)
      }
    }
    const other = await openAccountsServer({ passwords: new Counted(cheap) })
    await other.register('alice')
    for (const name of ['alice', 'nobody']) {
      verified = 0
      await logIn(other, name, 'wrong')
      expect(verified, name).to.equal(1)
    }
  })

  it('is answered when its audit entry cannot be stored, which is logged', async () => {
    const other = await openAccountsServer({
      wrap: store => withMethods(store, { audit: () => Promise.reject(new Error('no room')) }),
    })
    await other.register('alice')
    const [line] = other.logged.filter(({ level }) => level === 'error')
    expect(line?.fields).to.include({ action: 'account.registered' })
  })
})

describe('a store that fails', () => {
  it('returns 503 and logs the reason, and the server recovers', async () => {
    const registry = await openAccountsServer({ wrap: failing.wrap })
    const { access_token: token } = await registry.register('alice')
    failing.now = true
    const answers = [
      await registry.call('GET', `${auth}/me`, { token }),
      await logIn(registry, 'alice'),
      await registry.call('GET', '/readyz'),
    ]
    for (const answer of answers) {
      expect(outcome(answer)).to.deep.equal([503, 'storage-unavailable'])
      expect(answer.headers['retry-after']).to.equal('5')
      expect(answer.text).not.to.include('/secret/path')
    }
    expect((await registry.call('GET', '/healthz')).json).to.deep.equal({ status: 'ok' })
    failing.now = false
    expect((await registry.call('GET', `${auth}/me`, { token })).status).to.equal(200)
    const [line] = registry.logged.filter(({ level }) => level === 'error')
    expect(line?.fields.err.message).to.include('/secret/path')
  })
})

const failing = {
  now: false,
  wrap: (store: AccountStore): AccountStore =>
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
