import { expect } from 'chai'
import type { AccountStore } from '../../src/server/accounts/account-store.ts'
import { startMs } from '../helpers/settable-clock.ts'
import { day, newSession, newToken } from '../helpers/new-account.ts'

interface Context {
  store(): AccountStore
  again(): Promise<AccountStore>
  add(who: string): Promise<unknown>
  readonly now: number
}

/** The part of the suite about what belongs to accounts: sessions, tokens, codes, failures, audit. */
export function describeSessions({ store: current, again, add, now }: Context): void {
  let store: AccountStore
  beforeEach(() => {
    store = current()
  })

  describe('sessions', () => {
    beforeEach(() => add('Alice'))
    const id = 'account-Alice'

    it('begins none for an account that is gone, disabled or has another password by now', async () => {
      const begin = (passwordHash?: string) => {
        const options = passwordHash === undefined ? {} : { passwordHash }
        return store.createSession(newSession(id, 'second'), options)
      }
      expect(await begin('hash of another time')).to.equal(false)
      await store.setDisabled(id, now)
      expect(await begin()).to.equal(false)
      await store.setDisabled(id, null)
      expect(await store.createSession(newSession('another', 'third'))).to.equal(false)
      expect(await store.findSession('second')).to.equal(null)
      expect(await begin('hash of Alice')).to.equal(true)
      expect((await store.findSession('second'))?.session).to.deep.equal({
        ...newSession(id, 'second'),
        counter: 0,
        rotatedAtMs: null,
        revokedAtMs: null,
        revokedReason: null,
      })
    })

    it('rotates from the counter that is current, and from no other', async () => {
      const rotate = (counter: number) => store.rotateSession('first of Alice', counter, now)
      expect(await rotate(1)).to.equal(false)
      expect(await rotate(0)).to.equal(true)
      expect(await rotate(0)).to.equal(false)
      const found = await store.findSession('first of Alice')
      expect(found?.session).to.include({ counter: 1, rotatedAtMs: now })
      expect(await store.rotateSession('another', 0, now)).to.equal(false)
    })

    it('rotates neither a revoked nor an expired session', async () => {
      await store.createSession(newSession(id, 'short', { expiresAtMs: now }))
      expect(await store.rotateSession('short', 0, now)).to.equal(false)
      await store.revokeSession(id, 'first of Alice', 'logout', now)
      expect(await store.rotateSession('first of Alice', 0, now)).to.equal(false)
    })

    it('makes one step of 50 simultaneous rotations', async () => {
      const stores = [store, await again()]
      const attempts = Array.from({ length: 50 }, (_, at) =>
        stores[at % 2]?.rotateSession('first of Alice', 0, now),
      )
      const outcomes = await Promise.all(attempts)
      expect(outcomes.filter(outcome => outcome === true)).to.have.length(1)
      expect((await store.findSession('first of Alice'))?.session.counter).to.equal(1)
    })

    it('lists living sessions, newest first', async () => {
      await store.createSession(newSession(id, 'newer', { createdAtMs: startMs + 1 }))
      await store.createSession(newSession(id, 'over', { expiresAtMs: now }))
      const ids = async () => (await store.listSessions(id, now)).map(session => session.id)
      expect(await ids()).to.deep.equal(['newer', 'first of Alice'])
      await store.revokeSession(id, 'newer', 'logout', now)
      expect(await ids()).to.deep.equal(['first of Alice'])
    })

    it('revokes a living session of its own account, once', async () => {
      await add('bob')
      expect(await store.revokeSession('account-bob', 'first of Alice', 'x', now)).to.equal(false)
      expect(await store.revokeSession(id, 'first of Alice', 'logout', now)).to.equal(true)
      expect(await store.revokeSession(id, 'first of Alice', 'again', now + 1)).to.equal(false)
      const found = await store.findSession('first of Alice')
      expect(found?.session).to.include({ revokedAtMs: now, revokedReason: 'logout' })
    })

    it('revokes all sessions of an account and says how many', async () => {
      await add('bob')
      await store.createSession(newSession(id, 'second'))
      await store.createSession(newSession(id, 'over', { expiresAtMs: now }))
      expect(await store.revokeSessions(id, 'logout', now)).to.equal(2)
      expect(await store.revokeSessions(id, 'logout', now)).to.equal(0)
      expect(await store.listSessions('account-bob', now)).to.have.length(1)
    })

    it('shows a revocation by one connection to the next look-up of another', async () => {
      const other = await again()
      expect((await other.findSession('first of Alice'))?.session.revokedAtMs).to.equal(null)
      await store.revokeSession(id, 'first of Alice', 'logout', now)
      expect((await other.findSession('first of Alice'))?.session.revokedAtMs).to.equal(now)
    })
  })

  describe('service tokens', () => {
    beforeEach(() => add('Alice'))
    const id = 'account-Alice'

    it('keeps a token, and finds it by the hash of its secret also when it is over', async () => {
      expect(await store.createServiceToken(newToken(id, 't'))).to.equal(true)
      const token = { ...newToken(id, 't'), lastUsedAtMs: null, revokedAtMs: null }
      const found = await store.findServiceToken('secret of t')
      expect(found?.token).to.deep.equal(token)
      expect(found?.account.id).to.equal(id)
      await store.revokeServiceToken(id, 't', now)
      expect((await store.findServiceToken('secret of t'))?.token.revokedAtMs).to.equal(now)
      expect(await store.findServiceToken('secret')).to.equal(null)
    })

    it('makes none for an account that is gone or disabled', async () => {
      expect(await store.createServiceToken(newToken('another', 't'))).to.equal(false)
      await store.setDisabled(id, now)
      expect(await store.createServiceToken(newToken(id, 't'))).to.equal(false)
      expect(await store.findServiceToken('secret of t')).to.equal(null)
    })

    it('notes the use of a token at most once in a minute', async () => {
      await store.createServiceToken(newToken(id, 't'))
      const used = async () => (await store.findServiceToken('secret of t'))?.token.lastUsedAtMs
      await store.touchServiceToken('t', now)
      await store.touchServiceToken('t', now + 59_999)
      expect(await used()).to.equal(now)
      await store.touchServiceToken('t', now + 60_000)
      expect(await used()).to.equal(now + 60_000)
    })

    it('lists and counts living tokens of the account alone', async () => {
      await add('bob')
      await store.createServiceToken(newToken(id, 'old'))
      await store.createServiceToken(newToken(id, 'new', { createdAtMs: startMs + 1 }))
      await store.createServiceToken(newToken(id, 'over', { expiresAtMs: now }))
      await store.createServiceToken(newToken('account-bob', 'of bob'))
      await store.createServiceToken(newToken(id, 'ended'))
      expect(await store.revokeServiceToken('account-bob', 'ended', now)).to.equal(false)
      expect(await store.revokeServiceToken(id, 'ended', now)).to.equal(true)
      expect(await store.revokeServiceToken(id, 'ended', now)).to.equal(false)
      const listed = await store.listServiceTokens(id, now)
      expect(listed.map(token => token.id)).to.deep.equal(['new', 'old'])
      expect(await store.countServiceTokens(id, now)).to.equal(2)
    })
  })

  describe('reset codes', () => {
    it('takes the newest code of an account, once and in time', async () => {
      for (const who of ['Alice', 'bob']) await add(who)
      const accountId = 'account-Alice'
      const expiresAtMs = now + day
      await store.createResetCode({ accountId, hash: 'old', expiresAtMs })
      expect(await store.createResetCode({ accountId, hash: 'new', expiresAtMs })).to.equal(true)
      const ownerOf = async (code: string, at = now) =>
        (await store.findByResetCode(code, at))?.username ?? null
      expect(await ownerOf('old')).to.equal(null)
      expect(await ownerOf('new', expiresAtMs)).to.equal(null)
      expect(await ownerOf('new')).to.equal('Alice')
      expect(await store.useResetCode(accountId, 'old', now)).to.equal(false)
      expect(await store.useResetCode('account-bob', 'new', now)).to.equal(false)
      expect(await store.useResetCode(accountId, 'new', expiresAtMs)).to.equal(false)
      expect(await store.useResetCode(accountId, 'new', now)).to.equal(true)
      expect(await ownerOf('new')).to.equal(null)
      expect(await store.useResetCode(accountId, 'new', now)).to.equal(false)
      const nobody = { accountId: 'another', hash: 'x', expiresAtMs }
      expect(await store.createResetCode(nobody)).to.equal(false)
    })
  })

  describe('failed logins', () => {
    const fail = (name: string, sources: string[], atMs = now) =>
      store.addFailure(name, sources, atMs, 1000)
    const forgottenAfter = async (name: string, source: string, of = store) => {
      const failures = await of.findFailures(name, source)
      return failures === null ? null : failures.forgottenAtMs - now
    }

    it('counts by name and source, each failure one time longer to forget', async () => {
      expect(await forgottenAfter('nobody', 'a')).to.equal(null)
      await fail('nobody', ['a', ''])
      await fail('nobody', ['b', ''])
      await fail('nobody', ['a', ''], now + 500)
      expect(await forgottenAfter('nobody', 'a')).to.equal(2000)
      expect(await forgottenAfter('nobody', 'b')).to.equal(1000)
      expect(await forgottenAfter('nobody', '')).to.equal(3000)
      expect(await store.findFailures('nobody', 'a')).to.include({ lastMs: now + 500 })
      const listed = await store.listFailures('nobody')
      expect(listed.map(({ source }) => source)).to.deep.equal(['', 'a', 'b'])
      await store.clearFailures('nobody', 'a')
      expect(await forgottenAfter('nobody', 'a')).to.equal(null)
      expect(await forgottenAfter('nobody', 'b')).to.equal(1000)
      await store.clearFailures('nobody')
      expect(await store.listFailures('nobody')).to.deep.equal([])
    })

    it('loses none of 60 simultaneous ones, and shows them to a store opened later', async () => {
      const stores = [store, await again()]
      const all = Array.from({ length: 60 }, (_, at) =>
        stores[at % 2]?.addFailure('bob', ['a'], now, 1000),
      )
      await Promise.all(all)
      expect(await forgottenAfter('bob', 'a', await again())).to.equal(60_000)
    })
  })

  describe('addresses of sessions', () => {
    it('are listed once each, of the account alone, also when the session has ended', async () => {
      for (const who of ['Alice', 'bob']) await add(who)
      const id = 'account-Alice'
      const address = '192.0.2.1'
      for (const name of ['one', 'two']) {
        await store.createSession(newSession(id, name, { address }))
        await store.revokeSession(id, name, 'logout', now)
      }
      await store.createSession(newSession(id, 'three', { address: null }))
      await store.createSession(newSession('account-bob', 'of bob', { address: '192.0.2.9' }))
      const listed = await store.listSessionAddresses(id)
      expect(listed.filter(one => one === address)).to.have.length(1)
      expect(listed).not.to.include('192.0.2.9')
    })
  })

  describe('audit', () => {
    const entry = (at: number, accountId: string | null = null) => ({
      atMs: now + at,
      action: 'login.failed',
      accountId,
      address: null,
      details: { at, note: `"; DROP TABLE audit; --`, none: null, yes: true },
    })

    it('keeps the newest entries up to the bound', async () => {
      const keep = { untilMs: now + day, maxRows: 5 }
      for (let at = 0; at < 8; at++) await store.audit(entry(at), keep)
      const kept = await store.listAudit({ limit: 100 })
      expect(kept).to.deep.equal([7, 6, 5, 4, 3].map(at => entry(at)))
      expect(await store.listAudit({ limit: 2 })).to.have.length(2)
    })

    it('drops what ends first beyond the bound, and in a sweep what has ended', async () => {
      const keep = (untilMs: number) => ({ untilMs, maxRows: 3 })
      await store.audit(entry(0), keep(now + 400 * day))
      for (let at = 1; at < 5; at++) await store.audit(entry(at), keep(now + 90 * day + at))
      const kept = async () => (await store.listAudit({ limit: 100 })).map(row => row.details.at)
      expect(await kept()).to.deep.equal([4, 3, 0])
      await store.sweep(now + 90 * day + 4)
      expect(await kept()).to.deep.equal([4, 0])
      await store.sweep(now + 91 * day)
      expect(await kept()).to.deep.equal([0])
    })

    it('lists those of one account', async () => {
      for (const [at, account] of ['a', 'b'].entries()) {
        await store.audit(entry(at, account), { untilMs: now + day, maxRows: 9 })
      }
      expect(await store.listAudit({ accountId: 'a', limit: 9 })).to.deep.equal([entry(0, 'a')])
    })
  })
}
