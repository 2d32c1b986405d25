import { expect } from 'chai'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { silentLogger } from '../../../../src/lib/util/logger.ts'
import { readAudit } from '../../../../src/server/accounts/admin/audit.ts'
import { makeInvite, makeResetCode } from '../../../../src/server/accounts/admin/codes.ts'
import { openAdmin } from '../../../../src/server/accounts/admin/open-admin.ts'
import {
  deleteUser,
  disableUser,
  enableUser,
  findAccount,
  listUsers,
  setTeam,
} from '../../../../src/server/accounts/admin/users.ts'
import { defaultAccountLimits } from '../../../../src/server/accounts/limits.ts'
import { forgetFailureMs, unknownAddresses } from '../../../../src/server/accounts/login-limits.ts'
import { hashOfSecret } from '../../../../src/server/accounts/service-tokens.ts'
import { failureOf } from '../../../helpers/failure.ts'
import { withFolder } from '../../../helpers/folder.ts'
import { startMs } from '../../../helpers/settable-clock.ts'
import { day, newAccount, newSession } from '../../../helpers/new-account.ts'
import { type Scene, withAdmin } from './support.ts'

const minute = 60_000

describe('administration of accounts', () => {
  it('makes no registry where there is none', () =>
    withFolder(async folder => {
      const dataDir = join(folder, 'data')
      const failure = await failureOf(() => openAdmin({ dataDir, log: silentLogger }))
      expect(failure.code).to.equal('storage_failed')
      expect(failure.message).to.equal(`there is no accounts server in ${dataDir}`)
      expect(existsSync(dataDir)).to.equal(false)
    }))

  it('lists accounts by name', () =>
    withAdmin(async ({ admin }) => {
      const { users } = await listUsers(admin)
      expect(users.map(user => user.username)).to.deep.equal(['Alice', 'Bob'])
    }))

  it('lists more accounts than are read at once', () =>
    withAdmin(async ({ admin }) => {
      for (let at = 0; at < 210; at++) {
        const account = newAccount(`c${String(at).padStart(3, '0')}`)
        await admin.store.createAccount(account, { session: newSession(account.id, `s${at}`) })
      }
      const { users } = await listUsers(admin)
      expect(users).to.have.length(212)
      expect(new Set(users.map(user => user.id)).size).to.equal(212)
    }))

  it('finds an account by name or address, and repeats no control characters', () =>
    withAdmin(async ({ admin }) => {
      expect(await findAccount(admin, 'ALICE@studio.example')).to.include({ username: 'Alice' })
      const failure = await failureOf(() => findAccount(admin, 'Carol\u001b[2J'))
      expect(failure.code).to.equal('request_refused')
      expect(failure.message).to.equal('there is no account "Carol"')
    }))

  it('disables and enables, and says when nothing changed', () =>
    withAdmin(async ({ admin }) => {
      const ended = { ended_sessions: 2, ended_tokens: 1 }
      expect(await disableUser(admin, 'alice')).to.include({ changed: true, ...ended })
      const { session, account } = (await admin.store.findSession('first of Alice')) ?? {}
      expect(account?.disabledAtMs).to.equal(startMs)
      expect(session?.revokedAtMs).to.equal(startMs)
      expect(await disableUser(admin, 'alice')).to.include({ changed: false, ended_sessions: 0 })
      expect(await enableUser(admin, 'alice')).to.include({ changed: true })
      expect(await enableUser(admin, 'alice')).to.include({ changed: false })
      expect((await findAccount(admin, 'alice')).disabledAtMs).to.equal(null)
      expect(await actions(admin)).to.deep.equal(['account.enabled', 'account.disabled'])
    }))

  it('sets the team in lower case, removes it, and refuses what is no word', () =>
    withAdmin(async ({ admin }) => {
      expect(await setTeam(admin, 'alice', 'FX')).to.include({ team: 'fx', before: null })
      expect(await setTeam(admin, 'alice', 'fx')).to.include({ team: 'fx', before: 'fx' })
      expect((await findAccount(admin, 'alice')).team).to.equal('fx')
      expect((await failureOf(() => setTeam(admin, 'alice', 'two words'))).code).to.equal(
        'usage_invalid',
      )
      expect(await setTeam(admin, 'alice', null)).to.include({ team: null, before: 'fx' })
      expect((await findAccount(admin, 'alice')).team).to.equal(null)
      expect(await actions(admin)).to.deep.equal(['account.team_set', 'account.team_set'])
    }))

  it('says that logins wait after failures, which disabling forgets', () =>
    withAdmin(async ({ admin }) => {
      const fail = (name: string, source: string) =>
        admin.store.addFailure(name, [source, unknownAddresses], startMs, forgetFailureMs)
      for (let at = 0; at < 9; at++) await fail('alice', '192.0.2.1')
      await fail('alice@studio.example', '192.0.2.1')
      expect((await listUsers(admin)).users[0]).to.include({ login: 'open', failed_logins: 10 })
      await fail('alice', '192.0.2.1')
      expect((await listUsers(admin)).users[0]).to.include({ login: 'waiting', failed_logins: 11 })
      await disableUser(admin, 'alice')
      expect((await listUsers(admin)).users[0]).to.include({ login: 'open', failed_logins: 0 })
    }))

  it('makes a reset code that is good once, for its time, and kept as a hash alone', () =>
    withAdmin(async ({ admin, clock, dataDir }) => {
      const first = await makeResetCode(admin, 'alice')
      const second = await makeResetCode(admin, 'alice')
      const use = ({ code }: typeof first) =>
        admin.store.useResetCode(first.id, hashOfSecret(code.reveal()), clock.now())
      expect(await use(first)).to.equal(false)
      expect(await use(second)).to.equal(true)
      expect(await use(second)).to.equal(false)

      const third = await makeResetCode(admin, 'alice')
      clock.advance(60 * minute)
      expect(await use(third)).to.equal(false)
      const kept = ['registry.db', 'registry.db-wal'].map(name =>
        readFileSync(join(dataDir, name), 'latin1'),
      )
      expect(kept.join('')).to.contain(hashOfSecret(third.code.reveal()))
      expect(kept.join('')).not.to.contain(third.code.reveal())
      expect(JSON.stringify([third, await readAudit(admin, { limit: 9 })])).not.to.contain(
        third.code.reveal(),
      )
    }))

  it('makes no reset code for a disabled account', () =>
    withAdmin(async ({ admin }) => {
      await disableUser(admin, 'alice')
      const failure = await failureOf(() => makeResetCode(admin, 'alice'))
      expect(failure.hint).to.contain('users enable Alice')
    }))

  it('invites one user by name, for seven days', () =>
    withAdmin(async ({ admin, clock }) => {
      const invited = async (name: string) =>
        hashOfSecret((await makeInvite(admin, name)).code.reveal())
      const join = (name: string, inviteHash: string) =>
        admin.store.createAccount(newAccount(name, { createdAtMs: clock.now() }), {
          inviteHash,
          session: newSession(`account-${name}`, name),
        })
      const [replaced, carol] = [await invited('Carol'), await invited('carol')]
      expect(await join('Carol', replaced)).to.equal('invite_invalid')
      expect(await join('Dave', carol)).to.equal('invite_invalid')
      expect(await join('Carol', carol)).to.equal('created')
      const late = await invited('Erin')
      clock.advance(7 * day)
      expect(await join('Erin', late)).to.equal('invite_invalid')
    }))

  it('invites no user whose name is taken, reserved or invalid', () =>
    withAdmin(async ({ admin }) => {
      for (const [name, code] of [
        ['alice', 'request_refused'],
        ['Root', 'usage_invalid'],
        ['two words', 'usage_invalid'],
      ] as const) {
        expect((await failureOf(() => makeInvite(admin, name))).code).to.equal(code)
      }
    }))

  it('deletes an account, keeps its name from others for a time, and its audit', () =>
    withAdmin(async ({ admin, clock }) => {
      const { id } = await deleteUser(admin, 'alice')
      expect(await admin.store.findSession('first of Alice')).to.equal(null)
      const attempt = () =>
        admin.store.createAccount(
          newAccount('ALICE', { id: 'another', createdAtMs: clock.now() }),
          { session: newSession('another', 'another') },
        )
      clock.advance(90 * day - 1)
      expect(await attempt()).to.equal('taken')
      clock.advance(2)
      expect(await attempt()).to.equal('created')
      const { entries } = await readAudit(admin, { limit: 10 })
      expect(entries[0]).to.deep.include({
        action: 'account.deleted',
        account_id: id,
        username: null,
        details: { by: 'owner', username: 'Alice' },
      })
    }))

  it('removes no entry of the audit: how many are kept is for a server to say', () =>
    withAdmin(async ({ admin, files }) => {
      const rows = defaultAccountLimits.maxAuditRows + 1
      const db = new DatabaseSync(files.database)
      db.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${rows})
        INSERT INTO audit (at_ms, action, details, keep_until_ms) SELECT i, 'x', '{}', 0 FROM n`)
      await enableUser(admin, 'alice')
      await disableUser(admin, 'alice')
      const count = db.prepare('SELECT count(*) AS count FROM audit').get()
      db.close()
      expect(count).to.deep.include({ count: rows + 1 })
    }))

  it('shows the entries of one account', () =>
    withAdmin(async ({ admin }) => {
      await setTeam(admin, 'alice', 'fx')
      await disableUser(admin, 'bob')
      const ofAlice = await readAudit(admin, { name: 'alice', limit: 100 })
      expect(ofAlice.entries.map(({ action }) => action)).to.deep.equal(['account.team_set'])
    }))
})

async function actions(admin: Scene['admin']): Promise<string[]> {
  return (await readAudit(admin, { limit: 100 })).entries.map(({ action }) => action)
}
