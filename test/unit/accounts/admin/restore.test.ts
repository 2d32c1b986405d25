import { expect } from 'chai'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { silentLogger } from '../../../../src/lib/util/logger.ts'
import { backUp } from '../../../../src/server/accounts/admin/backup.ts'
import { openAdmin } from '../../../../src/server/accounts/admin/open-admin.ts'
import { type RestoreOptions, restore } from '../../../../src/server/accounts/admin/restore.ts'
import { deleteUser, findAccount, listUsers } from '../../../../src/server/accounts/admin/users.ts'
import { failureOf } from '../../../helpers/failure.ts'
import { type Scene, withAdmin } from './support.ts'

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

describe('restoring a registry', () => {
  it('brings accounts, tokens and keys back, with every session ended', () =>
    withBackup(async scene => {
      const { target, from, clock } = scene
      const done = await scene.restore()
      expect(done).to.include({ accounts: 2, keys: true, sessions_ended: 4, replaced: null })
      expect(fs.readFileSync(join(target, 'keys.json'))).to.deep.equal(
        fs.readFileSync(join(from, 'keys.json')),
      )
      expect(fs.readdirSync(target)).to.have.members(['keys.json', 'registry.db', 'registry.lock'])
      await using admin = await openAdmin({ dataDir: target, log: silentLogger, clock })
      const { id } = await findAccount(admin, 'alice')
      expect(await admin.store.listSessions(id, clock.now())).to.deep.equal([])
      expect(await admin.store.listServiceTokens(id, clock.now())).to.have.length(1)
    }))

  it('keeps the sessions when that is asked for', () =>
    withBackup(async ({ restore, target, clock }) => {
      expect(await restore({ keepSessions: true })).to.include({ sessions_kept: 4 })
      await using admin = await openAdmin({ dataDir: target, log: silentLogger, clock })
      const { id } = await findAccount(admin, 'alice')
      expect(await admin.store.listSessions(id, clock.now())).to.have.length(2)
    }))

  it('goes without the keys only when that is asked for, and then keeps no session', () =>
    withBackup(async ({ restore, from, target }) => {
      fs.rmSync(join(from, 'keys.json'))
      const failure = await failureOf(restore)
      expect(failure.message).to.contain('has no keys')
      expect(failure.hint).to.contain('--without-keys')
      expect(fs.existsSync(target)).to.equal(false)
      const both = await failureOf(() => restore({ withoutKeys: true, keepSessions: true }))
      expect(both.code).to.equal('usage_invalid')
      expect(await restore({ withoutKeys: true })).to.include({ keys: false, sessions_ended: 4 })
      expect(fs.existsSync(join(target, 'keys.json'))).to.equal(false)
    }))

  it('refuses over a registry in use, and over any unless forced', () =>
    withBackup(async ({ restore, dataDir, admin }) => {
      await deleteUser(admin, 'bob')
      const over = await failureOf(() => restore({ dataDir }))
      expect(over.code).to.equal('file_exists')
      const inUse = await failureOf(() => restore({ dataDir, force: true }))
      expect(inUse.message).to.equal(`an accounts server is running on ${dataDir}`)
      expect((await listUsers(admin)).users).to.have.length(1)
    }))

  it('puts a registry aside whole when forced, also a damaged one', () =>
    withBackup(async scene => {
      const { admin, dataDir } = scene
      await deleteUser(admin, 'bob')
      await admin[Symbol.asyncDispose]()
      const done = await scene.restore({ dataDir, force: true })
      expect(await names(scene, dataDir)).to.deep.equal(['Alice', 'Bob'])
      const aside = done.replaced ?? ''
      expect(fs.statSync(aside).mode & 0o777).to.equal(0o700)
      expect(await names(scene, aside)).to.deep.equal(['Alice'])

      scene.clock.advance(1)
      fs.writeFileSync(join(dataDir, 'registry.db'), 'damaged')
      await scene.restore({ dataDir, force: true })
      expect(await names(scene, dataDir)).to.deep.equal(['Alice', 'Bob'])
    }))

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
    ['has a damaged list', folder => fs.writeFileSync(join(folder, 'backup.json'), '{'), /damaged/],
    ['is of a newer version', newerList, /newer version/],
    ['has a database of a newer version', newerDatabase, /newer version/],
    ['has a database with one bit changed', flip, /registry\.db was changed or damaged/],
    ['has a database that was cut', cut, /registry\.db was changed or damaged/],
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

function newerList(folder: string): void {
  const file = join(folder, 'backup.json')
  fs.writeFileSync(
    file,
    JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), version: 2 }),
  )
}

/** With a list that goes with it, as a newer version would write. */
function newerDatabase(folder: string): void {
  const path = join(folder, 'registry.db')
  const db = new DatabaseSync(path)
  db.exec('PRAGMA user_version = 2')
  db.close()
  relist(folder)
}

function relist(folder: string): void {
  const list = join(folder, 'backup.json')
  const bytes = fs.readFileSync(join(folder, 'registry.db'))
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const database = { bytes: bytes.length, sha256 }
  fs.writeFileSync(list, JSON.stringify({ ...JSON.parse(fs.readFileSync(list, 'utf8')), database }))
}

/** In the middle of a name: no check of the database's own sees it. */
function flip(folder: string): void {
  const path = join(folder, 'registry.db')
  const bytes = fs.readFileSync(path)
  const at = bytes.indexOf('hash of Alice')
  bytes[at] = (bytes[at] ?? 0) ^ 1
  fs.writeFileSync(path, bytes)
}

function cut(folder: string): void {
  fs.truncateSync(join(folder, 'registry.db'), 3 * 4096)
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
