import { expect } from 'chai'
import type {
  NewAccount,
  NewServiceToken,
  NewSession,
} from '../../../src/server/accounts/schema.ts'
import type { AccountStore } from '../../../src/server/accounts/store.ts'
import { failureOf } from '../../helpers/failure.ts'
import { startMs as now } from '../../helpers/fakes.ts'

/** What a store of accounts does, whatever database it is in. `open` opens an empty one. */
export function describeAccountStore(name: string, open: () => Promise<AccountStore>): void {
  describe(`the account store in ${name}`, () => {
    let store: AccountStore
    beforeEach(async () => (store = await open()))
    afterEach(() => store.close())

    /** An account with a session. */
    async function make(username: string) {
      const account = newAccount(username)
      const session = newSession(account.id, `session-${username}`)
      expect(await store.createAccount(account, session)).to.equal('created')
      return { account, session, id: account.id, key: account.usernameKey }
    }
    it('uses up the code of a user name with the account, and never for another name', async () => {
      const code = { usernameKey: 'ada', hash: 'h', expiresAtMs: now + 1000 }
      const create = (username: string, hash: string, createdAtMs = now) => {
        const account = newAccount(username, { createdAtMs })
        return store.createAccount(account, newSession(account.id, 's'), hash)
      }
      await store.setCode({ ...code, hash: 'replaced' })
      await store.setCode(code)
      expect(await create('ada', 'replaced')).to.equal('code_invalid')
      expect(await create('bob', 'h')).to.equal('code_invalid')
      expect(await create('ada', 'h', now + 1000)).to.equal('code_invalid')
      expect(await store.findCode('h', now)).to.equal('ada')
      expect(await create('ada', 'h')).to.equal('created')
      expect(await store.findCode('h', now)).to.equal(null)
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
      const rotate = (toHash: string) =>
        store.rotateSession(session.id, session.tokenHash, {
          tokenHash: toHash,
          seed: toHash,
          rotatedAtMs: now,
        })
      const all = await Promise.all(['x', 'y', 'z'].map(rotate))
      expect(all.filter(Boolean)).to.have.length(1)
      const rotated = (await store.findSession(session.id))?.session
      expect(rotated?.tokenHash).to.equal(rotated?.seed).and.to.be.oneOf(['x', 'y', 'z'])
      expect(rotated).to.include({ previousHash: session.tokenHash, rotatedAtMs: now })
    })

    it('lists and revokes service tokens of their account alone', async () => {
      const [ada, bob] = [await make('ada'), await make('bob')]
      await store.createServiceToken(newToken(ada.id, 't'), 'session-ada')
      await store.createServiceToken(newToken(bob.id, 'b'), 'session-bob')
      const listed = await store.listServiceTokens(ada.id, now)
      expect(listed.map(token => token.id)).to.deep.equal(['t'])
      expect(await store.revokeServiceToken(bob.id, 't')).to.equal(false)
      expect(await store.findServiceToken('secret of t')).to.not.equal(null)
      expect(await store.revokeServiceToken(ada.id, 't')).to.equal(true)
      expect(await store.findServiceToken('secret of t')).to.equal(null)
    })

    it('ends the code and the other sessions with a new password', async () => {
      const { id, key, account } = await make('ada')
      await store.createSession(newSession(id, 'kept'), account.passwordHash)
      await store.setCode({ usernameKey: key, hash: 'h', expiresAtMs: now + day })
      const from = (passwordHash: string) =>
        store.changePassword({ ...account, passwordHash }, 'new', 'kept')
      expect(await from('wrong')).to.equal(false)
      expect(await from(account.passwordHash)).to.equal(true)
      expect(await store.findSession('kept')).to.not.equal(null)
      expect(await store.findSession('session-ada')).to.equal(null)
      expect(await store.findCode('h', now)).to.equal(null)
    })

    it('starts no session of an account that is disabled, gone or has another password', async () => {
      const { id, account } = await make('ada')
      const start = (accountId: string, hash: string) =>
        store.createSession(newSession(accountId, 'next'), hash)
      expect(await start(id, 'another hash')).to.equal(false)
      expect(await start('nobody', account.passwordHash)).to.equal(false)
      await store.updateAccount(id, { disabledAtMs: now })
      expect(await start(id, account.passwordHash)).to.equal(false)
      await store.updateAccount(id, { disabledAtMs: null })
      expect(await start(id, account.passwordHash)).to.equal(true)
    })

    it('keeps no session of the old password when both happen at the same time', async () => {
      const { id, account } = await make('ada')
      const { passwordHash } = account
      await Promise.all([
        ...[1, 2, 3, 4].map(at => store.createSession(newSession(id, `s${at}`), passwordHash)),
        store.changePassword(account, 'new', 'none'),
      ])
      for (const at of [1, 2, 3, 4]) expect(await store.findSession(`s${at}`)).to.equal(null)
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

const day = 24 * 60 * 60 * 1000

export function newAccount(name: string, change: Partial<NewAccount> = {}): NewAccount {
  return {
    id: `account-${name}`,
    username: name,
    usernameKey: name.toLowerCase(),
    email: `${name}@studio.example`,
    emailKey: `${name.toLowerCase()}@studio.example`,
    passwordHash: `hash of ${name}`,
    createdAtMs: now,
    ...change,
  }
}

export function newSession(
  accountId: string,
  id: string,
  change: Partial<NewSession> = {},
): NewSession {
  return {
    id,
    accountId,
    tokenHash: `token of ${id}`,
    seed: 'seed',
    createdAtMs: now,
    expiresAtMs: now + 30 * day,
    ...change,
  }
}

function newToken(
  accountId: string,
  id: string,
  change: Partial<NewServiceToken> = {},
): NewServiceToken {
  return {
    id,
    accountId,
    name: `token ${id}`,
    secretHash: `secret of ${id}`,
    scopes: 'read publish',
    createdAtMs: now,
    expiresAtMs: now + 90 * day,
    ...change,
  }
}
