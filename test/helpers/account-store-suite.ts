import { expect } from 'chai'
import type { NewAccount } from '../../src/server/accounts/schema.ts'
import type { AccountStore } from '../../src/server/accounts/store.ts'
import { failureOf } from './failure.ts'
import { day, newAccount, newSession, newToken } from './new-account.ts'
import { startMs as now } from './settable-clock.ts'

interface OpenedStore {
  store: AccountStore
  /** Another store on the same data. */
  again(): Promise<AccountStore>
  remove(): Promise<void>
}

/** What a store of accounts does, whatever database it is in. */
export function describeAccountStore(name: string, open: () => Promise<OpenedStore>): void {
  describe(`the account store in ${name}`, () => {
    let opened: OpenedStore
    let store: AccountStore
    beforeEach(async () => {
      opened = await open()
      store = opened.store
    })
    afterEach(() => opened.remove())

    /** An account with a session. */
    async function make(username: string) {
      const account = newAccount(username)
      const session = newSession(account.id, `session-${username}`)
      expect(await store.createAccount(account, session)).to.equal('created')
      return { account, session, id: account.id, key: account.usernameKey }
    }
    const sessionOf = async (id: string) => (await store.findSession(id))?.session ?? null

    it('finds an account by user name and email address, also when it is opened again', async () => {
      const { account, session } = await make('Ada')
      const row = { ...account, disabledAtMs: null, team: null }
      expect(store.isNew).to.equal(true)
      const other = await opened.again()
      expect(other.isNew).to.equal(false)
      for (const key of ['ada', 'ada@studio.example']) {
        expect(await other.findAccount(key)).to.deep.equal(row)
      }
      expect(await other.findAccount('Ada')).to.equal(null)
      const fresh = { previousHash: null, rotatedAtMs: null }
      expect(await other.findSession('session-Ada')).to.deep.equal({
        session: { ...session, ...fresh },
        account: row,
      })
    })

    it('sets a new password once with a code, and ends sessions and service tokens', async () => {
      const { id, key, account } = await make('ada')
      const { account: bob } = await make('bob')
      await store.createServiceToken(newToken(id, 't'), 'session-ada')
      await store.setCode({ usernameKey: key, hash: 'h', expiresAtMs: now + 1000 })
      const reset = (of: NewAccount, nowMs = now) => store.resetPassword(of, 'h', 'new', nowMs)
      expect(await reset(bob)).to.equal(null)
      expect(await reset(account, now + 1000)).to.equal(null)
      const all = await Promise.all([1, 2, 3].map(() => reset(account)))
      const [ended, ...others] = all.filter(each => each !== null)
      expect(others).to.deep.equal([])
      expect(ended?.sessions).to.equal(1)
      expect(ended?.tokens.map(token => token.id)).to.deep.equal(['t'])
      expect(await store.findSession('session-ada')).to.equal(null)
      expect(await store.findSession('session-bob')).to.not.equal(null)
      expect((await store.findAccount(key))?.passwordHash).to.equal('new')
    })

    it('deletes an account with all that is its own but its audit entries', async () => {
      const { id, key } = await make('ada')
      await store.createServiceToken(newToken(id, 't'), 'session-ada')
      await store.setCode({ usernameKey: key, hash: 'h', expiresAtMs: now + day })
      const entry = { atMs: now, action: 'x', accountId: id, address: null, details: {} }
      await store.audit(entry)
      expect(await store.listAudit({ limit: 9 })).to.deep.equal([{ ...entry, username: 'ada' }])
      await store.deleteAccount(id, key)
      expect(await store.findSession('session-ada')).to.equal(null)
      expect(await store.findServiceToken('secret of t')).to.equal(null)
      expect(await store.findCode('h', now)).to.equal(null)
      const left = await store.listAudit({ accountId: id, limit: 9 })
      expect(left).to.deep.equal([{ ...entry, username: null }])
      await make('ada')
    })

    it('rotates the refresh token of a session once for each token', async () => {
      const { session } = await make('ada')
      const rotate = (fromHash: string, toHash: string) =>
        store.rotateSession(session.id, fromHash, {
          tokenHash: toHash,
          seed: toHash,
          rotatedAtMs: now,
        })
      const all = await Promise.all(['x', 'y', 'z'].map(to => rotate(session.tokenHash, to)))
      expect(all.filter(Boolean)).to.have.length(1)
      const rotated = await sessionOf(session.id)
      expect(rotated?.tokenHash).to.be.oneOf(['x', 'y', 'z'])
      expect(rotated).to.include({
        previousHash: session.tokenHash,
        seed: rotated?.tokenHash,
        rotatedAtMs: now,
        expiresAtMs: session.expiresAtMs,
      })
      await store.endSession(session.id)
      expect(await rotate(rotated?.tokenHash ?? '', 'ended')).to.equal(false)
    })

    it('keeps no session of the old password when both happen at the same time', async () => {
      const { id, account } = await make('ada')
      const { passwordHash } = account
      await Promise.all([
        ...[1, 2, 3, 4].map(at => store.createSession(newSession(id, `s${at}`), passwordHash)),
        store.changePassword(account, 'new', 'none'),
      ])
      for (const at of [1, 2, 3, 4]) expect(await sessionOf(`s${at}`)).to.equal(null)
    })

    it('keeps no service token of a session that ends at the same time', async () => {
      const { id } = await make('ada')
      const create = (at: number) => store.createServiceToken(newToken(id, `t${at}`), 'session-ada')
      await Promise.all([create(1), create(2), store.endAccess(id), create(3), create(4)])
      expect(await store.listServiceTokens(id, now)).to.deep.equal([])
      expect(await create(5)).to.equal(false)
    })

    it('changes team and address of an account, but to no address of another', async () => {
      const { id } = await make('ada')
      await make('bob')
      const email = { email: 'X@y', emailKey: 'x@y' }
      await store.updateAccount(id, { ...email, team: 'fx' })
      expect(await store.findAccount('ada')).to.include({ ...email, team: 'fx' })
      const taken = { emailKey: 'bob@studio.example' }
      expect((await failureOf(() => store.updateAccount(id, taken))).code).to.equal(
        'storage_failed',
      )
    })

    it('lists the newest audit entries first, of all or of one account', async () => {
      const entry = (action: string, accountId: string | null) => ({
        atMs: now,
        action,
        accountId,
        address: '::1',
        username: null,
        details: { text: `'"${action}`, count: 1, none: null },
      })
      const entries = [entry('a', null), entry('b', 'x'), entry('c', 'y'), entry('d', 'x')]
      for (const { username: _, ...row } of entries) await store.audit(row)
      const [, b, c, d] = entries
      expect(await store.listAudit({ limit: 2 })).to.deep.equal([d, c])
      expect(await store.listAudit({ accountId: 'x', limit: 9 })).to.deep.equal([d, b])
    })

    it('removes what is over, and audit entries after 400 days', async () => {
      const { id, account } = await make('ada')
      const expired = { expiresAtMs: now + day }
      await store.createSession(newSession(id, 'expired', expired), account.passwordHash)
      await store.createServiceToken(newToken(id, 't', expired), 'session-ada')
      await store.setCode({ usernameKey: 'bob', hash: 'h', expiresAtMs: now })
      await store.audit({ atMs: now, action: 'x', accountId: null, address: null, details: {} })
      await store.sweep(now + day)
      expect(await store.findSession('expired')).to.equal(null)
      expect(await store.findSession('session-ada')).to.not.equal(null)
      expect(await store.findServiceToken('secret of t')).to.equal(null)
      expect(await store.listAudit({ limit: 9 })).to.have.length(1)
      await store.sweep(now + 400 * day)
      expect(await store.listAudit({ limit: 9 })).to.have.length(0)
      await store.ping()
    })
  })
}
