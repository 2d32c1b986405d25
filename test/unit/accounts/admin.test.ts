import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { readAudit } from '../../../src/server/accounts/admin/audit.ts'
import { backUp } from '../../../src/server/accounts/admin/backup.ts'
import { type Admin, openAdmin } from '../../../src/server/accounts/admin/open-admin.ts'
import {
  type DataFiles,
  dataFiles,
  openAccountsStore,
} from '../../../src/server/accounts/data-folder.ts'
import { openFileKeys } from '../../../src/server/accounts/keys/file-keys.ts'
import { makeInvite, makeResetCode } from '../../../src/server/accounts/admin/codes.ts'
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
import { withFolder } from '../../helpers/folder.ts'
import { settableClock, startMs } from '../../helpers/settable-clock.ts'
import { day, newAccount, newSession, newToken } from '../../helpers/new-account.ts'

interface Scene {
  readonly admin: Admin
  readonly clock: ReturnType<typeof settableClock>
  readonly folder: string
  readonly dataDir: string
  readonly files: DataFiles
}

/** The registry of Alice and Bob, as a server leaves it, in the hands of its owner. */
function withAdmin(use: (scene: Scene) => Promise<void>): Promise<void> {
  return withFolder(async folder => {
    const dataDir = join(folder, 'data')
    const clock = settableClock()
    await makeAccounts(dataDir, clock)
    await using admin = await openAdmin({ dataDir, log: silentLogger, clock })
    await use({ admin, clock, folder, dataDir, files: dataFiles(dataDir) })
  })
}

async function makeAccounts(
  dataDir: string,
  clock: ReturnType<typeof settableClock>,
): Promise<void> {
  const common = { clock, log: silentLogger, busyMs: 5000 }
  const store = await openAccountsStore({ dataDir, ...common })
  for (const name of ['Bob', 'Alice']) {
    const id = `account-${name}`
    await store.createAccount(newAccount(name), { session: newSession(id, `first of ${name}`) })
    await store.createSession(newSession(id, `second of ${name}`))
    await store.createServiceToken(newToken(id, `token of ${name}`))
  }
  await store.close()
  await openFileKeys({
    ...common,
    file: dataFiles(dataDir).keys,
    lifetimes: { accessTokenMs: day, refreshTokenMs: 30 * day },
    rotationMs: 90 * day,
  })
}

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
        fs.readFileSync(join(dataDir, name), 'latin1'),
      )
      expect(kept.join('')).to.contain(hashOfSecret(code.reveal()))
      const audit = JSON.stringify(await readAudit(admin, { limit: 9 }))
      expect(kept.join('') + audit).not.to.contain(code.reveal())
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
      fs.rmSync(files.keys)
      const failure = await failureOf(() => rotateKeys(admin, {}))
      expect(failure.message).to.contain('there is no key file')
    }))
})

describe('backup of a registry', () => {
  it('is a folder of database, keys and a list of both, for this user alone', () =>
    withAdmin(async ({ admin, folder, files }) => {
      const out = join(folder, 'copy')
      fs.mkdirSync(out, { mode: 0o755 })
      const before = process.umask(0)
      try {
        expect(await backUp(admin, out)).to.include({ accounts: 2, sessions: 4, folder: out })
      } finally {
        process.umask(before)
      }
      expect(fs.statSync(out).mode & 0o777).to.equal(0o700)
      const names = fs.readdirSync(out).toSorted()
      expect(names).to.deep.equal(['backup.json', 'keys.json', 'registry.db'])
      for (const name of names) expect(fs.statSync(join(out, name)).mode & 0o777).to.equal(0o600)
      expect(fs.readFileSync(join(out, 'keys.json'))).to.deep.equal(fs.readFileSync(files.keys))
      const [entry] = (await readAudit(admin, { limit: 1 })).entries
      expect(entry?.action).to.equal('registry.backed_up')
    }))

  it('replaces nothing, and follows no symbolic link', () =>
    withAdmin(async ({ admin, folder }) => {
      const full = join(folder, 'full')
      const link = join(folder, 'link')
      fs.mkdirSync(full)
      fs.writeFileSync(join(full, 'precious'), 'x')
      fs.mkdirSync(join(folder, 'victim'))
      fs.symlinkSync(join(folder, 'victim'), link)
      for (const taken of [full, join(full, 'precious'), link]) {
        const failure = await failureOf(() => backUp(admin, taken))
        expect(failure.code, taken).to.equal('file_exists')
        expect(failure.message).to.contain(taken)
      }
      expect(fs.readdirSync(full)).to.deep.equal(['precious'])
      expect(fs.readdirSync(join(folder, 'victim'))).to.deep.equal([])
      const nowhere = await failureOf(() => backUp(admin, join(folder, 'no', 'copy')))
      expect(nowhere.hint).to.contain('make the folder above')
    }))

  it('leaves nothing when it fails: without keys, or with damaged ones', () =>
    withAdmin(async ({ admin, folder, files }) => {
      const out = join(folder, 'copy')
      fs.writeFileSync(files.keys, 'no keys')
      expect((await failureOf(() => backUp(admin, out))).code).to.equal('config_invalid')
      fs.rmSync(files.keys)
      expect((await failureOf(() => backUp(admin, out))).message).to.contain('no key file')
      expect(fs.existsSync(out)).to.equal(false)
    }))
})
