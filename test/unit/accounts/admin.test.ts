import { expect } from 'chai'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readAudit } from '../../../src/server/accounts/admin/audit.ts'
import { makeResetCode } from '../../../src/server/accounts/admin/codes.ts'
import { rotateKeys } from '../../../src/server/accounts/admin/signing-keys.ts'
import {
  deleteUser,
  disableUser,
  enableUser,
  findAccount,
  listUsers,
  setTeam,
} from '../../../src/server/accounts/admin/users.ts'
import { forgetFailureMs, unknownAddresses } from '../../../src/server/accounts/login-limits.ts'
import { hashOfSecret } from '../../../src/server/accounts/service-tokens.ts'
import { failureOf } from '../../helpers/failure.ts'
import { startMs } from '../../helpers/settable-clock.ts'
import { day, newAccount, newSession } from '../../helpers/new-account.ts'
import { withAdmin } from './admin-support.ts'

describe('administration of accounts', () => {
  it('lists accounts by name, more than are read at once', () =>
    withAdmin(async ({ admin }) => {
      for (let at = 0; at < 210; at++) {
        const account = newAccount(`c${String(at).padStart(3, '0')}`)
        await admin.store.createAccount(account, { session: newSession(account.id, `s${at}`) })
      }
      const { users } = await listUsers(admin)
      expect(users.slice(0, 3).map(user => user.username)).to.deep.equal(['Alice', 'Bob', 'c000'])
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
      expect(await disableUser(admin, 'alice')).to.include({ changed: false, ended_sessions: 0 })
      expect(await enableUser(admin, 'alice')).to.include({ changed: true })
      expect(await enableUser(admin, 'alice')).to.include({ changed: false })
      const { entries } = await readAudit(admin, { limit: 100 })
      const actions = entries.map(({ action }) => action)
      expect(actions).to.deep.equal(['account.enabled', 'account.disabled'])
    }))

  it('sets the team in lower case, removes it, and refuses what is no word', () =>
    withAdmin(async ({ admin }) => {
      expect(await setTeam(admin, 'alice', 'FX')).to.include({ team: 'fx', before: null })
      expect(await setTeam(admin, 'alice', 'fx')).to.include({ team: 'fx', before: 'fx' })
      const refused = await failureOf(() => setTeam(admin, 'alice', 'two words'))
      expect(refused.code).to.equal('usage_invalid')
      expect(await setTeam(admin, 'alice', null)).to.include({ team: null, before: 'fx' })
      expect((await findAccount(admin, 'alice')).team).to.equal(null)
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

  it('keeps a reset code as a hash alone, and makes none for a disabled account', () =>
    withAdmin(async ({ admin, dataDir }) => {
      const { code } = await makeResetCode(admin, 'alice')
      const kept = ['registry.db', 'registry.db-wal'].map(name =>
        readFileSync(join(dataDir, name), 'latin1'),
      )
      expect(kept.join('')).to.contain(hashOfSecret(code.reveal()))
      const audit = JSON.stringify(await readAudit(admin, { limit: 9 }))
      expect(kept.join('') + audit).not.to.contain(code.reveal())
      await disableUser(admin, 'alice')
      const failure = await failureOf(() => makeResetCode(admin, 'alice'))
      expect(failure.hint).to.contain('users enable Alice')
    }))

  it('deletes an account, keeps its name from others for a time, and its audit', () =>
    withAdmin(async ({ admin, clock }) => {
      const { id } = await deleteUser(admin, 'alice')
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

  it('makes no keys in place of lost ones', () =>
    withAdmin(async ({ admin, files }) => {
      rmSync(files.keys)
      const failure = await failureOf(() => rotateKeys(admin, {}))
      expect(failure.message).to.contain('there is no key file')
    }))
})
