import { expect } from 'chai'
import type { AccountStore } from '../../src/server/accounts/store.ts'
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
      expect(other.registryId).to.equal(store.registryId)
      for (const key of ['ada', 'ada@studio.example']) {
        expect(await other.findAccount(key)).to.deep.equal(row)
      }
      expect(await other.findAccount('Ada')).to.equal(null)
      const fresh = { previousHash: null, rotatedAtMs: null, endedAtMs: null }
      expect(await other.findSession('session-Ada')).to.deep.equal({
        session: { ...session, ...fresh },
        account: row,
      })
    })

    it('takes each name and each address once, and leaves nothing of a refused account', async () => {
      await make('ada')
      const others = [
        newAccount('ADA', { emailKey: 'other@studio.example', id: 'a' }),
        newAccount('other', { emailKey: 'ada@studio.example', id: 'b' }),
      ]
      for (const other of others) {
        const session = newSession(other.id, `session-${other.id}`)
        expect(await store.createAccount(other, session)).to.equal('taken')
        expect(await store.findSession(session.id)).to.equal(null)
      }
      expect(await store.listAccounts()).to.have.length(1)
    })

    it('gives a name to one of several that want it at the same time', async () => {
      const outcomes = await Promise.all(
        [0, 1, 2, 3].map(at =>
          store.createAccount(
            newAccount('ada', { id: `ada-${at}` }),
            newSession(`ada-${at}`, `s${at}`),
          ),
        ),
      )
      expect(outcomes.toSorted()).to.deep.equal(['created', 'taken', 'taken', 'taken'])
    })

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

    it('lets a code be used once', async () => {
      await store.setCode({ usernameKey: 'ada', hash: 'h', expiresAtMs: now + 1000 })
      expect(await store.useCode('bob', 'h', now)).to.equal(false)
      expect(await store.useCode('ada', 'h', now + 1000)).to.equal(false)
      const uses = [1, 2, 3].map(() => store.useCode('ada', 'h', now))
      expect((await Promise.all(uses)).filter(Boolean)).to.have.length(1)
    })

    it('reserves the name of a deleted account, and keeps its audit entries alone', async () => {
      const { id, account } = await make('ada')
      await store.createServiceToken(newToken(id, 't'))
      const entry = { atMs: now, action: 'x', accountId: id, address: null, details: {} }
      await store.audit(entry)
      expect(await store.deleteAccount(id, now + day)).to.equal(true)
      expect(await store.deleteAccount(id, now + day)).to.equal(false)
      expect(await store.findSession('session-ada')).to.equal(null)
      expect(await store.findServiceToken('secret of t')).to.equal(null)
      expect(await store.listAudit({ accountId: id, limit: 9 })).to.deep.equal([entry])
      const recreate = (createdAtMs: number) =>
        store.createAccount({ ...account, createdAtMs }, newSession(id, 'new'))
      expect(await recreate(now)).to.equal('taken')
      expect(await recreate(now + day)).to.equal('created')
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

    it('ends the oldest session beyond 1000', async () => {
      const { id, account } = await make('ada')
      for (let at = 1; at <= 1000; at++) {
        const session = newSession(id, `s${at}`, { createdAtMs: now + at })
        await store.createSession(session, account.passwordHash)
      }
      expect((await sessionOf('session-ada'))?.endedAtMs).to.equal(now + 1000)
      expect((await sessionOf('s1'))?.endedAtMs).to.equal(null)
    })

    it('rotates the refresh token of a session once for each token', async () => {
      const { id, session } = await make('ada')
      const rotate = (fromHash: string, toHash: string, nowMs = now) =>
        store.rotateSession({ id: session.id, fromHash, toHash, seed: toHash, nowMs })
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
      const current = rotated?.tokenHash ?? ''
      expect(await rotate(current, 'late', session.expiresAtMs)).to.equal(false)
      expect(await store.endSession('someone else', session.id, now)).to.equal(false)
      expect(await store.endSession(id, session.id, now)).to.equal(true)
      expect(await store.endSession(id, session.id, now)).to.equal(false)
      expect(await rotate(current, 'ended')).to.equal(false)
    })

    it('ends other sessions, the code and on demand the tokens with a new password', async () => {
      const { id, key, account } = await make('ada')
      await store.createSession(newSession(id, 'kept'), account.passwordHash)
      await store.createServiceToken(newToken(id, 't'))
      await store.setCode({ usernameKey: key, hash: 'h', expiresAtMs: now + day })
      const change = { id, newHash: 'new', keepSessionId: 'kept', endTokens: false, nowMs: now }
      expect(await store.changePassword({ ...change, oldHash: 'wrong' })).to.equal(null)
      const { passwordHash: oldHash } = account
      expect(await store.changePassword({ ...change, oldHash })).to.deep.equal({
        sessions: 1,
        tokens: [],
      })
      expect((await sessionOf('kept'))?.endedAtMs).to.equal(null)
      expect((await sessionOf('session-ada'))?.endedAtMs).to.equal(now)
      expect(await store.findCode('h', now)).to.equal(null)
      const reset = { ...change, oldHash: null, keepSessionId: null, endTokens: true }
      const ended = await store.changePassword(reset)
      expect(ended?.sessions).to.equal(1)
      expect(ended?.tokens.map(token => token.id)).to.deep.equal(['t'])
      expect(await store.listServiceTokens(id, now)).to.deep.equal([])
      expect(await store.replaceHash(id, oldHash, 'better')).to.equal(false)
      expect(await store.replaceHash(id, 'new', 'better')).to.equal(true)
    })

    it('keeps no session of the old password when both happen at the same time', async () => {
      const { id, account } = await make('ada')
      const { passwordHash } = account
      const change = { id, oldHash: null, newHash: 'new', keepSessionId: null, endTokens: true }
      await Promise.all([
        ...[1, 2, 3, 4].map(at => store.createSession(newSession(id, `s${at}`), passwordHash)),
        store.changePassword({ ...change, nowMs: now }),
      ])
      for (const at of [1, 2, 3, 4]) {
        const session = await sessionOf(`s${at}`)
        expect(session === null || session.endedAtMs !== null).to.equal(true)
      }
    })

    it('keeps service tokens with their scopes and the minute of their last use', async () => {
      const { id } = await make('ada')
      const token = newToken(id, 't')
      await store.createServiceToken(token)
      await store.createServiceToken(newToken(id, 'newer', { createdAtMs: now + 1 }))
      const used = async () =>
        (await store.findServiceToken('secret of t'))?.token.lastUsedAtMs ?? null
      expect(await store.listServiceTokens(id, now)).to.deep.equal([
        {
          ...newToken(id, 'newer', { createdAtMs: now + 1 }),
          lastUsedAtMs: null,
          revokedAtMs: null,
        },
        { ...token, lastUsedAtMs: null, revokedAtMs: null },
      ])
      const uses: [atMs: number, stored: number][] = [
        [now, now],
        [now + 59_999, now],
        [now + 60_000, now + 60_000],
      ]
      for (const [atMs, stored] of uses) {
        await store.touchServiceToken('t', atMs)
        expect(await used()).to.equal(stored)
      }
      expect(await store.revokeServiceToken('someone else', 't', now)).to.equal(false)
      expect(await store.revokeServiceToken(id, 't', now)).to.equal(true)
      expect((await store.findServiceToken('secret of t'))?.token.revokedAtMs).to.equal(now)
      const rest = await store.revokeServiceTokens(id, now)
      expect(rest.map(row => row.id)).to.deep.equal(['newer'])
      expect(await store.listServiceTokens(id, now)).to.deep.equal([])
    })

    it('changes team, state and address of an account, but to no address of another', async () => {
      const { id } = await make('ada')
      await make('bob')
      const email = { email: 'X@y', emailKey: 'x@y' }
      expect(await store.updateAccount(id, { ...email, team: 'fx' })).to.equal('changed')
      expect(await store.getAccount(id)).to.include({ ...email, team: 'fx' })
      expect(await store.updateAccount(id, { emailKey: 'bob@studio.example' })).to.equal('taken')
      expect(await store.updateAccount('nobody', { team: null })).to.equal('unknown')
    })

    it('lists the newest audit entries first, of all or of one account', async () => {
      const entry = (action: string, accountId: string | null) => ({
        atMs: now,
        action,
        accountId,
        address: '::1',
        details: { text: `'"${action}`, count: 1, flag: true, none: null },
      })
      const entries = [entry('a', null), entry('b', 'x'), entry('c', 'y'), entry('d', 'x')]
      for (const row of entries) await store.audit(row)
      const [, b, c, d] = entries
      expect(await store.listAudit({ limit: 2 })).to.deep.equal([d, c])
      expect(await store.listAudit({ accountId: 'x', limit: 9 })).to.deep.equal([d, b])
    })

    it('removes what is over, and audit entries after 400 days', async () => {
      const { id, account } = await make('ada')
      await store.createSession(newSession(id, 'ended'), account.passwordHash)
      await store.endSession(id, 'ended', now)
      await store.createServiceToken(newToken(id, 't'))
      await store.revokeServiceTokens(id, now)
      await store.setCode({ usernameKey: 'bob', hash: 'h', expiresAtMs: now })
      await store.audit({ atMs: now, action: 'x', accountId: null, address: null, details: {} })
      await store.sweep(now + day)
      expect(await store.findSession('ended')).to.equal(null)
      expect(await store.findSession('session-ada')).to.not.equal(null)
      expect(await store.findServiceToken('secret of t')).to.equal(null)
      expect(await store.listAudit({ limit: 9 })).to.have.length(1)
      await store.sweep(now + 400 * day)
      expect(await store.listAudit({ limit: 9 })).to.have.length(0)
      await store.ping()
    })
  })
}
