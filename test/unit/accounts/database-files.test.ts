import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openSqliteStore } from '../../../src/server/accounts/sqlite/sqlite-store.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'
import { settableClock } from '../../helpers/settable-clock.ts'

const clock = settableClock()

/** A folder with a database. */
function withDatabase(use: (file: string, folder: string) => Promise<void>) {
  return withFolder(async folder => {
    const file = join(folder, 'data', 'registry.db')
    await (await openSqliteStore({ file, clock })).close()
    await use(file, join(folder, 'data'))
  })
}

const mode = (path: string) => fs.statSync(path).mode & 0o777

describe('files of the account store', () => {
  it('are open to this user alone, whatever the umask', () =>
    withFolder(async folder => {
      const before = process.umask(0)
      try {
        const store = await openSqliteStore({ file: join(folder, 'data', 'registry.db'), clock })
        await store.backup(join(folder, 'copy.db'))
        const names = fs.readdirSync(join(folder, 'data'))
        expect(names).to.have.members(['registry.db', 'registry.db-shm', 'registry.db-wal'])
        for (const name of ['.', ...names, '../copy.db']) {
          expect(mode(join(folder, 'data', name)) & 0o077, name).to.equal(0)
        }
        const taken = await failureOf(() => store.backup(join(folder, 'copy.db')))
        expect(taken.message).to.contain('is there already')
        const nowhere = await failureOf(() => store.backup(join(folder, 'no', 'copy.db')))
        expect(nowhere.message).to.contain('its folder is not there')
        await store.close()
      } finally {
        process.umask(before)
      }
    }))

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

  it('are not made where they are only looked for', () =>
    withFolder(async folder => {
      const look = () => openSqliteStore({ file: join(folder, 'none.db'), clock, create: false })
      expect((await failureOf(look)).message).to.contain('there is no')
      expect(fs.readdirSync(folder)).to.deep.equal([])
      fs.mkdirSync(join(folder, 'none.db'))
      expect((await failureOf(look)).message).to.contain('is not a regular file')
    }))

  it('are waited for while another process has them locked', () =>
    withDatabase(async file => {
      const other = new DatabaseSync(file)
      const store = await openSqliteStore({ file, clock })
      other.exec('BEGIN IMMEDIATE')
      const swept = store.sweep(0)
      other.exec('COMMIT')
      expect(await swept).to.equal(0)
      await store.close()
      other.close()
    }))

  it('are refused when the folder is a symbolic link', () =>
    withDatabase(async (_file, data) => {
      fs.symlinkSync(data, `${data}-link`)
      const file = join(`${data}-link`, 'registry.db')
      const failure = await failureOf(() => openSqliteStore({ file, clock }))
      expect(failure.code).to.equal('registry_dir_unsafe')
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
