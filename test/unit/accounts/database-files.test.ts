import { expect } from 'chai'
import { hash } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { checkFiles } from '../../../src/server/accounts/sqlite/check-files.ts'
import { openSqliteStore } from '../../../src/server/accounts/sqlite/sqlite-store.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'
import { settableClock } from '../../helpers/settable-clock.ts'
import { newAccount, newSession } from '../../helpers/new-account.ts'

const loop = join(import.meta.dirname, '../../helpers/scripts', 'write-loop.ts')
const clock = settableClock()

/** A folder with a database that holds one account. */
function withDatabase(use: (file: string, folder: string) => Promise<void>) {
  return withFolder(async folder => {
    const file = join(folder, 'data', 'registry.db')
    const store = await openSqliteStore({ file, clock })
    const session = newSession('account-Alice', 'first')
    for (const who of ['Alice', 'bob']) {
      const first = { ...session, id: who, accountId: `account-${who}` }
      await store.createAccount(newAccount(who), { session: first })
    }
    await store.close()
    await use(file, join(folder, 'data'))
  })
}

/** The store is refused, nothing that lies in the folder changes, and the message names the file. */
async function expectRefused(file: string, what: RegExp, code = 'storage_failed') {
  const before = contents(file)
  const failure = await failureOf(() => openSqliteStore({ file, clock, busyMs: 200 }))
  expect(failure.message).to.match(what)
  expect(failure.message).to.contain(file)
  expect(failure.code).to.equal(code)
  expect(failure.hint).to.be.a('string')
  expect(contents(file)).to.deep.equal(before)
}

function contents(file: string): string | null {
  return fs.existsSync(file) ? hash('sha256', fs.readFileSync(file)) : null
}

function change(file: string, sql: string): void {
  const db = new DatabaseSync(file, { defensive: false })
  db.exec(sql)
  db.close()
}

const mode = (path: string) => fs.statSync(path).mode & 0o777

describe('files of the account store', () => {
  it('name the program that they belong to: other versions look for the same number', () =>
    withDatabase(async file => {
      // SQLite keeps the application id at this place of the header.
      expect(fs.readFileSync(file).readUInt32BE(68)).to.equal(0x53764372)
    }))

  it('are accepted when another process creates the database during the check', () =>
    withFolder(async folder => {
      fs.chmodSync(folder, 0o700)
      const file = join(folder, 'registry.db')
      fs.writeFileSync(`${file}-shm`, '', { mode: 0o644 })
      // The check of the loose mode comes between the look for the database and the verdict.
      const warn = () => fs.writeFileSync(file, '', { mode: 0o600 })
      expect(await checkFiles(file, { ...silentLogger, warn })).to.equal(true)
    }))

  for (const mask of [0o000, 0o077, 0o277]) {
    it(`are open to this user alone under a umask of ${mask.toString(8)}`, () =>
      withFolder(async folder => {
        const before = process.umask(mask)
        try {
          const file = join(folder, 'data', 'registry.db')
          const store = await openSqliteStore({ file, clock }).catch(error => error)
          if (mask === 0o277 && process.geteuid?.() !== 0) return
          await store.createAccount(newAccount('Alice'), {
            session: newSession('account-Alice', 's'),
          })
          await store.backup(join(folder, 'copy.db'))
          expect(mode(join(folder, 'data')) & 0o077).to.equal(0)
          const names = fs.readdirSync(join(folder, 'data'))
          expect(names).to.have.members(['registry.db', 'registry.db-shm', 'registry.db-wal'])
          for (const name of names) expect(mode(join(folder, 'data', name)) & 0o077).to.equal(0)
          expect(mode(join(folder, 'copy.db')) & 0o077).to.equal(0)
          await store.close()
        } finally {
          process.umask(before)
        }
      }))
  }

  it('are closed to others, with a warning, when they were open', () =>
    withDatabase(async file => {
      fs.chmodSync(file, 0o644)
      const warnings: object[] = []
      const log = {
        debug() {},
        info() {},
        error() {},
        warn: (fields: object) => void warnings.push(fields),
      }
      await (await openSqliteStore({ file, clock, log })).close()
      expect(mode(file)).to.equal(0o600)
      expect(warnings).to.deep.equal([{ path: file }])
    }))

  it('are opened when another process removes the log meanwhile', () =>
    withDatabase(async file => {
      fs.writeFileSync(`${file}-wal`, '')
      fs.chmodSync(`${file}-wal`, 0o644)
      const log = { ...silentLogger, warn: () => fs.rmSync(`${file}-wal`) }
      expect(await checkFiles(file, log)).to.equal(true)
      expect(fs.existsSync(`${file}-wal`)).to.equal(false)
    }))

  it('are not made in a folder that others can enter', () =>
    withFolder(async folder => {
      const data = join(folder, 'data')
      fs.mkdirSync(data)
      fs.chmodSync(data, 0o755)
      fs.writeFileSync(join(data, 'other'), '')
      const failure = await failureOf(() =>
        openSqliteStore({ file: join(data, 'registry.db'), clock }),
      )
      expect(failure.code).to.equal('registry_dir_unsafe')
      expect(failure.hint).to.contain('--data-dir')
      expect(fs.readdirSync(data)).to.deep.equal(['other'])
    }))

  for (const suffix of ['', '-wal', '-shm', '-journal']) {
    it(`are refused when registry.db${suffix} is a symbolic link`, () =>
      withDatabase(async (file, data) => {
        const victim = join(data, '..', 'victim')
        fs.writeFileSync(victim, 'of somebody else')
        fs.rmSync(file + suffix, { force: true })
        fs.symlinkSync(victim, file + suffix)
        const failure = await failureOf(() => openSqliteStore({ file, clock }))
        expect(failure.code).to.equal('registry_dir_unsafe')
        expect(failure.message).to.contain(`${file}${suffix} is a symbolic link`)
        expect(fs.readFileSync(victim, 'utf8')).to.equal('of somebody else')
      }))
  }

  it('are refused when the folder is a symbolic link', () =>
    withDatabase(async (_file, data) => {
      fs.symlinkSync(data, `${data}-link`)
      const file = join(`${data}-link`, 'registry.db')
      const failure = await failureOf(() => openSqliteStore({ file, clock }))
      expect(failure.code).to.equal('registry_dir_unsafe')
    }))

  it('are not made when the caller expects them', () =>
    withFolder(async folder => {
      const file = join(folder, 'data', 'registry.db')
      const failure = await failureOf(() => openSqliteStore({ file, clock, create: false }))
      expect(failure.message).to.contain(`there is no accounts database ${file}`)
      expect(fs.readdirSync(join(folder, 'data'))).to.deep.equal([])
    }))

  const damages: [what: string, damage: (file: string) => void, message: RegExp][] = [
    ['the header is overwritten', file => write(file, 0, Buffer.alloc(100, 7)), /damaged/],
    ['a page is overwritten', file => write(file, 2 * 4096, Buffer.alloc(4096, 7)), /damaged/],
    ['the end is missing', file => fs.truncateSync(file, 3 * 4096), /damaged/],
    ['nothing is left', file => fs.truncateSync(file, 0), /empty/],
    [
      'it is no database',
      file => fs.writeFileSync(file, 'no database at all'.repeat(99)),
      /no database/,
    ],
    ['it is of another program', replaceByForeign, /something else than this program/],
    ['it is newer', file => change(file, 'PRAGMA user_version = 2'), /newer version/],
    ['the schema does not parse', file => change(file, broken), /damaged/],
  ]
  for (const [what, damage, message] of damages) {
    it(`are refused, and left as they are, when ${what}`, () =>
      withDatabase(async file => {
        damage(file)
        await expectRefused(file, message)
      }))
  }

  it('are refused when only the log of the database is there', () =>
    withDatabase(async file => {
      await leaveLog(file)
      fs.rmSync(file)
      await expectRefused(file, /is gone/)
    }))

  it('are cleared of what killed processes left half made', () =>
    withFolder(async folder => {
      const half = (age: number, name: string) => {
        fs.writeFileSync(join(folder, name), '')
        fs.utimesSync(join(folder, name), new Date(Date.now() - age), new Date(Date.now() - age))
      }
      half(7_200_000, 'registry.db.0123456789abcdef.new')
      half(0, 'registry.db.1123456789abcdef.new')
      half(7_200_000, 'registry.db.mine.new')
      await (await openSqliteStore({ file: join(folder, 'registry.db'), clock })).close()
      expect(fs.readdirSync(folder)).to.have.members([
        'registry.db',
        'registry.db.1123456789abcdef.new',
        'registry.db.mine.new',
      ])
    }))
})

const broken = `PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = 'CREATE TABLE accounts (' WHERE name = 'accounts'`

function write(file: string, at: number, bytes: Buffer): void {
  const handle = fs.openSync(file, 'r+')
  fs.writeSync(handle, bytes, 0, bytes.length, at)
  fs.closeSync(handle)
}

function replaceByForeign(file: string): void {
  fs.rmSync(file)
  change(file, 'CREATE TABLE songs (name TEXT)')
  fs.chmodSync(file, 0o600)
}

/** Leaves the log of a process that was killed while it wrote. */
async function leaveLog(file: string): Promise<void> {
  const child = spawn(process.execPath, [loop, file, '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  for await (const chunk of child.stdout) {
    if (String(chunk).includes('rotated')) child.kill('SIGKILL')
  }
  await ended
}
