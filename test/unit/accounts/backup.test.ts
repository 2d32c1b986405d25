import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { restoreBackup, verifyBackup } from '../../../src/server/accounts/sqlite/backup.ts'
import { openSqliteStore } from '../../../src/server/accounts/sqlite/sqlite-store.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'
import { settableClock, startMs } from '../../helpers/settable-clock.ts'
import { day, newAccount, newSession, newToken } from '../../helpers/new-account.ts'

const loop = join(import.meta.dirname, '../../helpers/scripts', 'write-loop.ts')
const clock = settableClock()
const restoring = { nowMs: startMs + day, busyMs: 5000, log: silentLogger }

function withStore(
  use: (store: Awaited<ReturnType<typeof openSqliteStore>>, folder: string) => Promise<void>,
) {
  return withFolder(async folder => {
    // Patient: the other process of a test writes without a pause.
    const file = join(folder, 'data', 'registry.db')
    const store = await openSqliteStore({ file, clock, busyMs: 50_000 })
    try {
      await store.createAccount(newAccount('Alice'), {
        session: newSession('account-Alice', 'first'),
      })
      await store.createServiceToken(newToken('account-Alice', 't'))
      await use(store, folder)
    } finally {
      await store.close()
    }
  })
}

describe('backup of the account store', () => {
  it('is one private file, whole, as the store was at one moment while others wrote', () =>
    withStore(async (store, folder) => {
      const file = join(folder, 'data', 'registry.db')
      const child = spawn(process.execPath, [loop, file, '0'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const ended = once(child, 'exit')
      await once(child.stdout, 'data')
      child.stdout.resume()
      for (let at = 0; at < 5; at++) {
        const target = join(folder, `copy${at}.db`)
        const { length: least } = await store.listAccounts({ limit: 1e6 })
        const copying = store.backup(target)
        const name = `mine${at}`
        await store.createAccount(newAccount(name), {
          session: newSession(`account-${name}`, name),
        })
        await copying
        const facts = await verifyBackup(target)
        expect(facts.registryId).to.equal(store.registryId)
        expect(facts.accounts).to.be.at.least(least)
        // They are made together: of no moment is there one without the other.
        expect(facts.sessions).to.equal(facts.accounts)
        expect(fs.statSync(target).mode & 0o777).to.equal(0o600)
      }
      child.kill('SIGKILL')
      await ended
      const names = fs.readdirSync(folder).filter(name => name.startsWith('copy'))
      expect(names).to.have.members([0, 1, 2, 3, 4].map(at => `copy${at}.db`))
    }))

  it('replaces nothing, not through a symbolic link either', () =>
    withStore(async (store, folder) => {
      const target = join(folder, 'copy.db')
      fs.writeFileSync(target, 'precious')
      fs.symlinkSync(join(folder, 'elsewhere'), join(folder, 'link.db'))
      for (const taken of [target, join(folder, 'link.db')]) {
        const failure = await failureOf(() => store.backup(taken))
        expect(failure.message).to.contain(taken).and.contain('is there already')
      }
      expect(fs.readFileSync(target, 'utf8')).to.equal('precious')
      const nowhere = await failureOf(() => store.backup(join(folder, 'no', 'copy.db')))
      expect(nowhere.code).to.equal('storage_failed')
      expect(fs.readdirSync(folder).toSorted()).to.deep.equal(['copy.db', 'data', 'link.db'])
    }))

  it('comes back with accounts and tokens, and with every session ended', () =>
    withStore(async (store, folder) => {
      const copy = join(folder, 'copy.db')
      await store.backup(copy)
      const file = join(folder, 'restored', 'registry.db')
      const facts = await restoreBackup(copy, file, restoring)
      expect(facts).to.include({ registryId: store.registryId, accounts: 1 })
      const restored = await openSqliteStore({ file, clock, create: false })
      expect(restored.registryId).to.equal(store.registryId)
      expect(await restored.getAccount('account-Alice')).to.deep.equal(
        await store.getAccount('account-Alice'),
      )
      expect((await restored.findSession('first'))?.session).to.include({
        revokedAtMs: startMs + day,
        revokedReason: 'restored',
      })
      expect((await restored.findServiceToken('secret of t'))?.token.revokedAtMs).to.equal(null)
      await restored.close()
      // Of the backup itself nothing is used up.
      expect((await verifyBackup(copy)).sessions).to.equal(1)
    }))

  it('is not put over a database, or beside what is left of one', () =>
    withStore(async (store, folder) => {
      const copy = join(folder, 'copy.db')
      await store.backup(copy)
      const over = await failureOf(() =>
        restoreBackup(copy, join(folder, 'data', 'registry.db'), restoring),
      )
      expect(over.message).to.contain('is there already')
      fs.mkdirSync(join(folder, 'left'), { mode: 0o700 })
      fs.writeFileSync(join(folder, 'left', 'registry.db-wal'), 'x', { mode: 0o600 })
      const beside = await failureOf(() =>
        restoreBackup(copy, join(folder, 'left', 'registry.db'), restoring),
      )
      expect(beside.message).to.contain('registry.db-wal is there')
      expect(fs.readdirSync(join(folder, 'left'))).to.deep.equal(['registry.db-wal'])
    }))

  const damages: [what: string, damage: (file: string) => void, message: RegExp][] = [
    ['is cut', file => fs.truncateSync(file, 3 * 4096), /damaged/],
    ['is no database', file => fs.writeFileSync(file, 'x'.repeat(5000)), /no database/],
    ['is empty', file => fs.truncateSync(file, 0), /empty/],
    ['is of another program', foreign, /something else/],
    ['has rows without their account', orphan, /belong to rows that are not there/],
    ['is not there', file => fs.rmSync(file), /cannot be read/],
  ]
  for (const [what, damage, message] of damages) {
    it(`is not restored when it ${what}`, () =>
      withStore(async (store, folder) => {
        const copy = join(folder, 'copy.db')
        await store.backup(copy)
        damage(copy)
        const file = join(folder, 'restored', 'registry.db')
        const failure = await failureOf(() => restoreBackup(copy, file, restoring))
        expect(failure.code).to.equal('storage_failed')
        expect(failure.message).to.match(message).and.contain(copy)
        expect(fs.existsSync(join(folder, 'restored'))).to.equal(false)
      }))
  }
})

function orphan(file: string): void {
  const db = new DatabaseSync(file, { enableForeignKeyConstraints: false })
  db.exec("DELETE FROM accounts WHERE id = 'account-Alice'")
  db.close()
}

function foreign(file: string): void {
  fs.rmSync(file)
  const db = new DatabaseSync(file)
  db.exec('CREATE TABLE songs (name TEXT)')
  db.close()
}
