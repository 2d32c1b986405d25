import { expect } from 'chai'
import type { AccountStore } from '../../../src/server/accounts/account-store.ts'
import { day, failureOf, newAccount, newSession, newToken, startMs } from './support.ts'

export interface StoreUnderTest {
  /** The same store as another process has it open. */
  again(): Promise<AccountStore>
  readonly store: AccountStore
  remove(): Promise<void>
}

/** What every store of accounts must do, whatever it is made of. */
export function describeAccountStore(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name}, as a store of accounts`, () => {
    let under: StoreUnderTest
    let store: AccountStore
    const now = startMs + 1000
    const add = (who: string, on = store) =>
      on.createAccount(newAccount(who), {
        session: newSession(`account-${who}`, `first of ${who}`),
      })

    beforeEach(async () => {
      under = await open()
      store = under.store
    })
    afterEach(() => under.remove())

    describe('accounts', () => {
      it('keeps an account with its first session', async () => {
        expect(await add('Alice')).to.equal('created')
        const account = { ...newAccount('Alice'), disabledAtMs: null }
        expect(await store.getAccount('account-Alice')).to.deep.equal(account)
        expect((await store.findSession('first of Alice'))?.account).to.deep.equal(account)
        expect(await store.getAccount('another')).to.equal(null)
      })

      it('finds an account by folded name and by folded address, and by nothing else', async () => {
        await add('Alice')
        const find = async (key: string) => (await store.findAccount(key))?.id
        expect(await find('alice')).to.equal('account-Alice')
        expect(await find('alice@studio.example')).to.equal('account-Alice')
        for (const key of [
          'Alice',
          'alic',
          'alice%',
          '%',
          'al_ce',
          "' OR 1=1--",
          'account-Alice',
          '',
        ]) {
          expect(await find(key), key).to.equal(undefined)
        }
      })

      it('says taken for a name or an address that is there, and keeps nothing of it', async () => {
        await add('Alice')
        const email = { email: 'Alice@studio.example', emailKey: 'alice@studio.example' }
        for (const account of [newAccount('ALICE', { emailKey: 'x' }), newAccount('bob', email)]) {
          const session = newSession(account.id, 'second')
          expect(await store.createAccount(account, { session })).to.equal('taken')
          expect(await store.getAccount(account.id)).to.equal(null)
          expect(await store.findSession('second')).to.equal(null)
        }
        expect(await store.countAccounts()).to.equal(1)
      })

      it('keeps no account when its session cannot be kept', async () => {
        await add('Alice')
        const session = newSession('account-bob', 'first of Alice')
        const attempt = () => store.createAccount(newAccount('bob'), { session })
        expect((await failureOf(attempt)).code).to.equal('storage_failed')
        expect(await store.findAccount('bob')).to.equal(null)
        expect(await store.countAccounts()).to.equal(1)
      })

      it('takes an invitation once, in time, and not for an account that was not created', async () => {
        await store.createInvite({ hash: 'good', createdAtMs: startMs, expiresAtMs: startMs + day })
        await store.createInvite({ hash: 'old', createdAtMs: startMs - day, expiresAtMs: startMs })
        const invited = (who: string, inviteHash: string) =>
          store.createAccount(newAccount(who), {
            inviteHash,
            session: newSession(`account-${who}`, `first of ${who}`),
          })
        await add('Alice')
        expect(await invited('bob', 'wrong')).to.equal('invite_invalid')
        expect(await invited('bob', 'old')).to.equal('invite_invalid')
        expect(await invited('Alice', 'wrong')).to.equal('invite_invalid')
        expect(await invited('Alice', 'good')).to.equal('taken')
        expect(await invited('bob', 'good')).to.equal('created')
        expect(await invited('carol', 'good')).to.equal('invite_invalid')
        expect(await store.countAccounts()).to.equal(2)
      })

      it('lists accounts by name, page by page', async () => {
        for (const who of ['carol', 'Alice', 'bob']) await add(who)
        const first = await store.listAccounts({ limit: 2 })
        expect(first.map(account => account.username)).to.deep.equal(['Alice', 'bob'])
        const rest = await store.listAccounts({ after: 'bob', limit: 2 })
        expect(rest.map(account => account.username)).to.deep.equal(['carol'])
      })

      it('shows a disabled account in the next look-up of its sessions and tokens', async () => {
        await add('Alice')
        await store.createServiceToken(newToken('account-Alice', 't'))
        expect(await store.setDisabled('account-Alice', now)).to.equal(true)
        expect((await store.findSession('first of Alice'))?.account.disabledAtMs).to.equal(now)
        const found = await store.findServiceToken('secret of t')
        expect(found?.account.disabledAtMs).to.equal(now)
        expect(await store.setDisabled('account-Alice', null)).to.equal(true)
        expect((await store.getAccount('account-Alice'))?.disabledAtMs).to.equal(null)
        expect(await store.setDisabled('another', now)).to.equal(false)
      })

      it('replaces a hash only while it is the one that was verified', async () => {
        await add('Alice')
        expect(await store.replaceHash('account-Alice', 'hash of Alice', 'better')).to.equal(true)
        expect(await store.replaceHash('account-Alice', 'hash of Alice', 'late')).to.equal(false)
        expect((await store.getAccount('account-Alice'))?.passwordHash).to.equal('better')
      })

      it('ends other sessions, codes and failures with a change of the password', async () => {
        for (const who of ['Alice', 'bob']) await add(who)
        const id = 'account-Alice'
        await store.createSession(newSession(id, 'kept'))
        await store.createResetCode({ accountId: id, hash: 'code', expiresAtMs: now + day })
        for (const key of ['alice', 'alice@studio.example', 'bob'])
          await store.addFailure(key, now, day)
        const change = { id, oldHash: 'hash of Alice', newHash: 'new', keepSessionId: 'kept' }
        const nowMs = now
        expect(await store.changePassword({ ...change, oldHash: 'wrong', nowMs })).to.equal(false)
        expect(await store.listSessions(id, now)).to.have.length(2)

        expect(await store.changePassword({ ...change, nowMs })).to.equal(true)
        const left = await store.listSessions(id, now)
        expect(left.map(session => session.id)).to.deep.equal(['kept'])
        const ended = await store.findSession('first of Alice')
        expect(ended?.session).to.include({ revokedAtMs: now, revokedReason: 'password_changed' })
        expect(await store.useResetCode(id, 'code', now)).to.equal(false)
        expect(await store.findFailures('alice')).to.equal(null)
        expect(await store.findFailures('alice@studio.example')).to.equal(null)
        expect(await store.findFailures('bob')).to.not.equal(null)
        expect(await store.listSessions('account-bob', now)).to.have.length(1)

        const whatever = { ...change, oldHash: null, newHash: 'newer', keepSessionId: null, nowMs }
        expect(await store.changePassword(whatever)).to.equal(true)
        expect(await store.listSessions(id, now)).to.deep.equal([])
      })

      it('deletes an account with all that is its, reserves its name and frees its address', async () => {
        for (const who of ['Alice', 'bob']) await add(who)
        const id = 'account-Alice'
        await store.createServiceToken(newToken(id, 't'))
        await store.createResetCode({ accountId: id, hash: 'code', expiresAtMs: now + day })
        await store.addFailure('alice', now, day)
        expect(await store.deleteAccount(id, startMs + 90 * day)).to.equal(true)
        expect(await store.deleteAccount(id, startMs + 90 * day)).to.equal(false)
        expect(await store.findAccount('alice')).to.equal(null)
        expect(await store.findSession('first of Alice')).to.equal(null)
        expect(await store.findServiceToken('secret of t')).to.equal(null)
        expect(await store.useResetCode(id, 'code', now)).to.equal(false)
        expect(await store.findFailures('alice')).to.equal(null)
        expect(await store.findSession('first of bob')).to.not.equal(null)

        expect(await add('Alice')).to.equal('taken')
        const email = { email: 'Alice@studio.example', emailKey: 'alice@studio.example' }
        const other = newAccount('carol', email)
        const session = newSession(other.id, 'of carol')
        expect(await store.createAccount(other, { session })).to.equal('created')
        const late = newAccount('Alice', { createdAtMs: startMs + 90 * day, emailKey: 'free' })
        const lateSession = newSession(late.id, 'late')
        expect(await store.createAccount(late, { session: lateSession })).to.equal('created')
      })

      it('creates one account of 100 simultaneous ones of a name, over several connections', async () => {
        const stores = [store, await under.again(), await under.again()]
        const attempts = Array.from({ length: 100 }, (_, at) => {
          const username = at % 2 === 0 ? 'Alice' : 'aLICE'
          const account = newAccount(username, { id: `a${at}`, emailKey: `${at}@studio.example` })
          const session = newSession(account.id, `s${at}`)
          return stores[at % 3]?.createAccount(account, { session })
        })
        const outcomes = await Promise.all(attempts)
        expect(outcomes.filter(outcome => outcome === 'created')).to.have.length(1)
        expect(outcomes.filter(outcome => outcome === 'taken')).to.have.length(99)
        expect(await store.countAccounts()).to.equal(1)
      })
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
        const stores = [store, await under.again()]
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
        const other = await under.again()
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
        expect(await store.useResetCode(accountId, 'old', now)).to.equal(false)
        expect(await store.useResetCode('account-bob', 'new', now)).to.equal(false)
        expect(await store.useResetCode(accountId, 'new', expiresAtMs)).to.equal(false)
        expect(await store.useResetCode(accountId, 'new', now)).to.equal(true)
        expect(await store.useResetCode(accountId, 'new', now)).to.equal(false)
        const nobody = { accountId: 'another', hash: 'x', expiresAtMs }
        expect(await store.createResetCode(nobody)).to.equal(false)
      })
    })

    describe('failed logins', () => {
      it('counts within a window, and on end beyond it', async () => {
        const fail = (atMs: number) => store.addFailure('nobody', atMs, 1000)
        const window = { windowStartedMs: now }
        expect(await store.findFailures('nobody')).to.equal(null)
        expect(await fail(now)).to.deep.equal({ count: 1, ...window, consecutive: 1, lastMs: now })
        expect(await fail(now + 999)).to.include({ count: 2, ...window, consecutive: 2 })
        const next = { count: 1, windowStartedMs: now + 1000, consecutive: 3, lastMs: now + 1000 }
        expect(await fail(now + 1000)).to.deep.equal(next)
        expect(await store.findFailures('nobody')).to.deep.equal(next)
        await store.clearFailures('nobody')
        expect(await store.findFailures('nobody')).to.equal(null)
      })

      it('begins a new window when the clock was set back', async () => {
        await store.addFailure('nobody', now, 1000)
        const failures = await store.addFailure('nobody', now - day, 1000)
        expect(failures).to.include({ count: 1, windowStartedMs: now - day, consecutive: 2 })
      })

      it('loses none of 60 simultaneous ones, and shows them to a store opened later', async () => {
        const stores = [store, await under.again()]
        const all = Array.from({ length: 60 }, (_, at) =>
          stores[at % 2]?.addFailure('bob', now, day),
        )
        await Promise.all(all)
        expect((await (await under.again()).findFailures('bob'))?.consecutive).to.equal(60)
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
        for (let at = 0; at < 8; at++) await store.audit(entry(at), 5)
        const kept = await store.listAudit({ limit: 100 })
        expect(kept).to.deep.equal([7, 6, 5, 4, 3].map(at => entry(at)))
        expect(await store.listAudit({ limit: 2 })).to.have.length(2)
      })

      it('lists those of one account', async () => {
        await store.audit(entry(0, 'a'), 9)
        await store.audit(entry(1, 'b'), 9)
        expect(await store.listAudit({ accountId: 'a', limit: 9 })).to.deep.equal([entry(0, 'a')])
      })
    })

    it('sweeps what is over, in any number, and nothing that lives', async () => {
      for (const who of ['Alice', 'bob']) await add(who)
      const id = 'account-Alice'
      const over = { expiresAtMs: now - 1 }
      const sessions = Array.from({ length: 1200 }, (_, at) => newSession(id, `over ${at}`, over))
      await Promise.all(sessions.map(session => store.createSession(session)))
      await store.createSession(newSession(id, 'revoked'))
      await store.revokeSession(id, 'revoked', 'logout', now - 1)
      await store.createServiceToken(newToken(id, 'over', over))
      await store.createServiceToken(newToken(id, 'living'))
      await store.createInvite({ hash: 'over', createdAtMs: startMs, ...over })
      await store.createInvite({ hash: 'living', createdAtMs: startMs, expiresAtMs: now + day })
      await store.createResetCode({ accountId: 'account-bob', hash: 'code', ...over })
      await store.deleteAccount('account-bob', now - 1)
      for (const key of ['alice', 'nobody']) await store.addFailure(key, now - 1, day)
      // Its session and code went with bob: 1200 + 1 sessions, token, invitation, name, failure.
      expect(await store.sweep(now)).to.equal(1205)
      expect(await store.sweep(now)).to.equal(0)
      expect(await store.listSessions(id, now)).to.have.length(1)
      expect(await store.findServiceToken('secret of living')).to.not.equal(null)
      expect(await store.findServiceToken('secret of over')).to.equal(null)
      expect(await store.findFailures('alice')).to.not.equal(null)
      expect(await store.findFailures('nobody')).to.equal(null)
      expect(await add('bob')).to.equal('created')
    })

    it('keeps text that is no text apart and whole, should it ever get here', async () => {
      await add('a')
      expect(await add('a\0b')).to.equal('created')
      expect(await add('a\ud800')).to.equal('created')
      // The second is kept as the character that stands for what cannot be kept.
      expect(await add('a\udfff')).to.not.equal('created')
      expect((await store.findAccount('a\0b'))?.username).to.equal('a\0b')
      expect((await store.findAccount('a'))?.username).to.equal('a')
      await store.ping()
    })

    it('has one id of its own for as long as it lives', async () => {
      expect(store.registryId).to.match(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
      expect((await under.again()).registryId).to.equal(store.registryId)
    })

    it('answers nothing after it was closed, and closes twice', async () => {
      const other = await under.again()
      await other.ping()
      await other.close()
      await other.close()
      for (const call of [
        () => other.ping(),
        () => other.findSession('s'),
        () => add('x', other),
      ]) {
        expect((await failureOf(call)).code).to.equal('storage_failed')
      }
      await store.ping()
    })
  })
}
