import { expect } from 'chai'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { backUp } from '../../../src/server/accounts/admin/backup.ts'
import { openAdmin } from '../../../src/server/accounts/admin/open-admin.ts'
import { readAudit } from '../../../src/server/accounts/admin/audit.ts'
import { type RestoreOptions, restore } from '../../../src/server/accounts/admin/restore.ts'
import { deleteUser, listUsers } from '../../../src/server/accounts/admin/users.ts'
import { failureOf } from '../../helpers/failure.ts'
import { type Scene, withAdmin } from './admin-support.ts'

const newer = 'PRAGMA user_version = 2'
const orphan = "DELETE FROM accounts WHERE id LIKE '%Bob'"

interface Backed extends Scene {
  readonly from: string
  readonly target: string
  restore(options?: Partial<RestoreOptions>): ReturnType<typeof restore>
}

function withBackup(use: (scene: Backed) => Promise<void>): Promise<void> {
  return withAdmin(async scene => {
    const { admin, folder, clock } = scene
    const from = join(folder, 'copy')
    const target = join(folder, 'restored')
    await backUp(admin, from)
    const usual = { from, dataDir: target, force: false, withoutKeys: false, keepSessions: false }
    await use({
      ...scene,
      from,
      target,
      restore: options => restore({ ...usual, log: silentLogger, clock, ...options }),
    })
  })
}

const names = async ({ target, clock }: Backed, dataDir = target) => {
  await using admin = await openAdmin({ dataDir, log: silentLogger, clock })
  return (await listUsers(admin)).users.map(user => user.username)
}

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

describe('restoring a registry', () => {
  it('puts everything back when it fails half-way', () =>
    withBackup(async scene => {
      const { admin, dataDir, from } = scene
      await deleteUser(admin, 'bob')
      await admin[Symbol.asyncDispose]()
      const before = fs.readdirSync(dataDir).toSorted()
      // Read once the backup was checked and just before the old files are put aside.
      const now = () => {
        fs.rmSync(join(from, 'registry.db'), { force: true })
        return scene.clock.now()
      }
      const failure = await failureOf(() => scene.restore({ dataDir, force: true, clock: { now } }))
      expect(failure.code).to.equal('storage_failed')
      expect(fs.readdirSync(dataDir).toSorted()).to.deep.equal(before)
      expect(await names(scene, dataDir)).to.deep.equal(['Alice'])
    }))

  it('is to be repeated after a kill: nothing opens what may not match', () =>
    withBackup(async scene => {
      const { target, clock } = scene
      await scene.restore()
      fs.writeFileSync(join(target, 'restore-unfinished'), '')
      const failure = await failureOf(() =>
        openAdmin({ dataDir: target, log: silentLogger, clock }),
      )
      expect(failure.message).to.contain('did not finish')
      await scene.restore({ force: true })
      expect(await names(scene)).to.deep.equal(['Alice', 'Bob'])
    }))

  const damages: [what: string, damage: (folder: string) => void, message: RegExp][] = [
    [
      'has no list of its files',
      folder => fs.rmSync(join(folder, 'backup.json')),
      /not a complete backup/,
    ],
    ['is of a newer version', to => relist(to, { version: 2 }), /newer version/],
    ['has a damaged list', folder => fs.writeFileSync(join(folder, 'backup.json'), '{'), /damaged/],
    ['has a database of a newer version', to => change(to, newer), /newer version/],
    ['has a database of another program', foreignDatabase, /something else/],
    [
      'has rows without their account',
      to => change(to, orphan),
      /belong to rows that are not there/,
    ],
    ['has a database with one bit changed', flip, /registry\.db was changed or damaged/],
    ['has other keys', otherKeys, /keys\.json was changed or damaged/],
    ['has no database', folder => fs.rmSync(join(folder, 'registry.db')), /has no registry\.db/],
    ['has a link for a database', link, /symbolic link/],
    ['is not there', folder => fs.rmSync(folder, { recursive: true }), /not a complete backup/],
  ]
  for (const [what, damage, message] of damages) {
    it(`refuses a backup that ${what}`, () =>
      withBackup(async ({ restore, from, target }) => {
        damage(from)
        const failure = await failureOf(restore)
        expect(failure.code).to.equal('storage_failed')
        expect(failure.message).to.match(message).and.contain(from)
        expect(fs.existsSync(target)).to.equal(false)
      }))
  }

  it('refuses a folder that is a symbolic link', () =>
    withBackup(async ({ restore, folder, target }) => {
      fs.mkdirSync(join(folder, 'victim'), { mode: 0o700 })
      fs.symlinkSync(join(folder, 'victim'), target)
      expect((await failureOf(restore)).code).to.equal('registry_dir_unsafe')
      expect(fs.readdirSync(join(folder, 'victim'))).to.deep.equal([])
    }))
})

/** Changes the database, and the list of files with it, as another program would write both. */
function change(folder: string, sql: string): void {
  const db = new DatabaseSync(join(folder, 'registry.db'), { enableForeignKeyConstraints: false })
  db.exec(sql)
  db.close()
  relist(folder)
}

function foreignDatabase(folder: string): void {
  fs.rmSync(join(folder, 'registry.db'))
  change(folder, 'CREATE TABLE songs (name TEXT)')
}

function relist(folder: string, more: object = {}): void {
  const list = join(folder, 'backup.json')
  const bytes = fs.readFileSync(join(folder, 'registry.db'))
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const database = { bytes: bytes.length, sha256 }
  const before = JSON.parse(fs.readFileSync(list, 'utf8'))
  fs.writeFileSync(list, JSON.stringify({ ...before, database, ...more }))
}

/** In the middle of a name: no check of the database's own sees it. */
function flip(folder: string): void {
  const path = join(folder, 'registry.db')
  const bytes = fs.readFileSync(path)
  const at = bytes.indexOf('hash of Alice')
  bytes[at] = (bytes[at] ?? 0) ^ 1
  fs.writeFileSync(path, bytes)
}

function otherKeys(folder: string): void {
  const path = join(folder, 'keys.json')
  fs.writeFileSync(path, fs.readFileSync(path, 'utf8').trimEnd())
}

function link(folder: string): void {
  const path = join(folder, 'registry.db')
  fs.renameSync(path, join(folder, 'elsewhere.db'))
  fs.symlinkSync('elsewhere.db', path)
}
