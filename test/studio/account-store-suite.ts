import { expect } from 'chai'
import type { AccountStore } from '../../src/server/accounts/account-store.ts'
import { describeSessions } from './session-store-suite.ts'
import { failureOf } from '../helpers/failure.ts'
import { startMs } from '../helpers/settable-clock.ts'
import { day, newAccount, newSession, newToken } from '../helpers/new-account.ts'

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
        const account = { ...newAccount('Alice'), disabledAtMs: null, team: null }
        expect(await store.getAccount('account-Alice')).to.deep.equal(account)
        expect((await store.findSession('first of Alice'))?.account).to.deep.equal(account)
        expect(await store.getAccount('another')).to.equal(null)
      })

      it('finds an account by folded name and by folded address, and by nothing else', async () => {
        await add('Alice')
        const find = async (key: string) => (await store.findAccount(key))?.id
        expect(await find('alice')).to.equal('account-Alice')
        expect(await find('alice@studio.example')).to.equal('account-Alice')
        for (const key of ['Alice', 'alic', '%', 'al_ce', "' OR 1=1--", '']) {
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
        expect(await store.listAccounts({ limit: 9 })).to.have.length(1)
      })

      it('keeps no account when its session cannot be kept', async () => {
        await add('Alice')
        const session = newSession('account-bob', 'first of Alice')
        const attempt = () => store.createAccount(newAccount('bob'), { session })
        expect((await failureOf(attempt)).code).to.equal('storage_failed')
        expect(await store.findAccount('bob')).to.equal(null)
        expect(await store.listAccounts({ limit: 9 })).to.have.length(1)
      })

      it('takes an invitation once, in time, and not for an account that was not created', async () => {
        const invite = (usernameKey: string, hash: string, expiresAtMs = startMs + day) =>
          store.createInvite({ usernameKey, hash, expiresAtMs })
        for (const who of ['alice', 'bob', 'carol']) await invite(who, `earlier of ${who}`)
        await Promise.all([invite('alice', 'a'), invite('bob', 'b'), invite('carol', 'c', startMs)])
        const invited = (who: string, inviteHash: string) =>
          store.createAccount(newAccount(who), {
            inviteHash,
            session: newSession(`account-${who}`, `first of ${who}`),
          })
        await add('Alice')
        expect(await invited('bob', 'earlier of bob')).to.equal('invite_invalid')
        expect(await invited('bob', 'a')).to.equal('invite_invalid')
        expect(await invited('carol', 'c')).to.equal('invite_invalid')
        expect(await invited('Alice', 'wrong')).to.equal('invite_invalid')
        expect(await invited('Alice', 'a')).to.equal('taken')
        expect(await store.hasInvite('alice', 'a', startMs)).to.equal(true)
        expect(await invited('bob', 'b')).to.equal('created')
        expect(await store.hasInvite('bob', 'b', startMs)).to.equal(false)
        expect(await store.listAccounts({ limit: 9 })).to.have.length(2)
      })

      it('finds an invitation by its name and code, in time', async () => {
        await store.createInvite({ usernameKey: 'bob', hash: 'b', expiresAtMs: startMs + day })
        expect(await store.hasInvite('bob', 'b', startMs + day - 1)).to.equal(true)
        expect(await store.hasInvite('bob', 'b', startMs + day)).to.equal(false)
        expect(await store.hasInvite('bob', 'wrong', startMs)).to.equal(false)
        expect(await store.hasInvite('carol', 'b', startMs)).to.equal(false)
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
        expect(await store.setTeam('account-Alice', 'fx')).to.equal(true)
        expect((await store.findSession('first of Alice'))?.account.team).to.equal('fx')
        expect((await store.findAccount('alice'))?.team).to.equal('fx')
        expect(await store.setTeam('account-Alice', null)).to.equal(true)
        expect((await store.getAccount('account-Alice'))?.team).to.equal(null)
        expect(await store.setTeam('another', 'fx')).to.equal(false)
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
          await store.addFailure(key, ['here'], now, day)
        const tokens = ['a', 'b', 'over'].map(name => newToken(id, name))
        for (const token of [...tokens, newToken('account-bob', 'of bob')])
          await store.createServiceToken(token)
        await store.revokeServiceToken(id, 'over', now)
        const hashes = { oldHash: 'hash of Alice', newHash: 'new' }
        const change = { id, ...hashes, keepSessionId: 'kept', endTokens: false, nowMs: now }
        expect(await store.changePassword({ ...change, oldHash: 'wrong' })).to.equal(null)
        expect(await store.listSessions(id, now)).to.have.length(2)

        const done = await store.changePassword(change)
        expect(done).to.deep.equal({ sessions: 1, tokens: [] })
        expect(await store.countServiceTokens(id, now)).to.equal(2)
        const left = await store.listSessions(id, now)
        expect(left.map(session => session.id)).to.deep.equal(['kept'])
        const ended = await store.findSession('first of Alice')
        expect(ended?.session).to.include({ revokedAtMs: now, revokedReason: 'password_changed' })
        expect(await store.useResetCode(id, 'code', now)).to.equal(false)
        expect(await store.findFailures('alice', 'here')).to.equal(null)
        expect(await store.findFailures('alice@studio.example', 'here')).to.equal(null)
        expect(await store.findFailures('bob', 'here')).to.not.equal(null)
        expect(await store.listSessions('account-bob', now)).to.have.length(1)

        const whatever = { ...change, oldHash: null, newHash: 'newer', keepSessionId: null }
        const reset = await store.changePassword({ ...whatever, endTokens: true })
        expect(reset?.sessions).to.equal(1)
        expect(reset?.tokens.map(token => token.id)).to.have.members(['a', 'b'])
        expect(await store.listSessions(id, now)).to.deep.equal([])
        expect(await store.listServiceTokens(id, now)).to.deep.equal([])
        expect((await store.findServiceToken('secret of a'))?.token.revokedAtMs).to.equal(now)
        expect(await store.countServiceTokens('account-bob', now)).to.equal(1)
      })

      it('deletes an account with all that is its, reserves its name and frees its address', async () => {
        for (const who of ['Alice', 'bob']) await add(who)
        const id = 'account-Alice'
        await store.createServiceToken(newToken(id, 't'))
        await store.createResetCode({ accountId: id, hash: 'code', expiresAtMs: now + day })
        await store.addFailure('alice', ['here'], now, day)
        expect(await store.deleteAccount(id, startMs + 90 * day)).to.equal(true)
        expect(await store.deleteAccount(id, startMs + 90 * day)).to.equal(false)
        expect(await store.findAccount('alice')).to.equal(null)
        expect(await store.findSession('first of Alice')).to.equal(null)
        expect(await store.findServiceToken('secret of t')).to.equal(null)
        expect(await store.useResetCode(id, 'code', now)).to.equal(false)
        expect(await store.findFailures('alice', 'here')).to.equal(null)
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
        expect(await store.listAccounts({ limit: 9 })).to.have.length(1)
      })
    })

    describeSessions({ store: () => store, again: () => under.again(), add, now })

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
      await store.createInvite({ usernameKey: 'over', hash: 'over', ...over })
      await store.createInvite({ usernameKey: 'on', hash: 'living', expiresAtMs: now + day })
      await store.createResetCode({ accountId: 'account-bob', hash: 'code', ...over })
      await store.deleteAccount('account-bob', now - 1)
      await store.addFailure('forgotten', ['here'], now - day - 1, day)
      await store.addFailure('nobody', ['here'], now - day, day)
      // Its session and code went with bob: 1200 + 1 sessions, token, invitation, name, failure.
      expect(await store.sweep(now)).to.equal(1205)
      expect(await store.sweep(now)).to.equal(0)
      expect(await store.listSessions(id, now)).to.have.length(1)
      expect(await store.findServiceToken('secret of living')).to.not.equal(null)
      expect(await store.findServiceToken('secret of over')).to.equal(null)
      expect(await store.findFailures('forgotten', 'here')).to.equal(null)
      expect(await store.findFailures('nobody', 'here')).to.not.equal(null)
      expect(await add('bob')).to.equal('created')
    })

    it('answers nothing after it was closed, and closes twice', async () => {
      const other = await under.again()
      expect(other.registryId).to.equal(store.registryId)
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
