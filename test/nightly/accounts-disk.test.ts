import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { openFileKeys } from '../../src/server/accounts/keys/file-keys.ts'
import { openSqliteStore } from '../../src/server/accounts/sqlite/sqlite-store.ts'
import { skipBecause } from '../helpers/skip.ts'
import { failureOf } from '../helpers/failure.ts'
import { withFolder } from '../helpers/folder.ts'
import { settableClock } from '../helpers/settable-clock.ts'
import { day, newAccount, newSession } from '../helpers/new-account.ts'
import { fillUp, onSmallDisk } from './small-disk.ts'

const clock = settableClock()
const lifetimes = { accessTokenMs: day, refreshTokenMs: 30 * day }
const keyOptions = (folder: string) => ({
  file: join(folder, 'keys.json'),
  clock,
  lifetimes,
  rotationMs: 90 * day,
  busyMs: 5000,
})

describe('account store on a full disk', () => {
  it('says storage_full, keeps all it acknowledged, and goes on when there is room', function () {
    return onSmallDisk(this, '1m', async folder => {
      const file = join(folder, 'registry.db')
      const store = await openSqliteStore({ file, clock })
      const keys = await openFileKeys(keyOptions(folder))
      const filler = join(folder, 'filler')
      fs.writeFileSync(filler, Buffer.alloc(300_000))

      const register = (at: number) => {
        const account = newAccount(`name${at}`, { passwordHash: 'h'.repeat(500) })
        return store.createAccount(account, { session: newSession(account.id, `s${at}`) })
      }
      let acknowledged = 0
      const failure = await failureOf(async () => {
        for (; acknowledged < 5000; acknowledged++) await register(acknowledged)
      })
      expect(failure.code).to.equal('storage_full')
      expect(failure.message).to.contain(file)
      expect(failure.hint).to.be.a('string')
      expect(acknowledged).to.be.greaterThan(10)
      // Reading goes on, half an account is not there, and the next one fails the same way.
      expect(await store.listAccounts({ limit: 9999 })).to.have.length(acknowledged)
      expect(await store.getAccount(`account-name${acknowledged}`)).to.equal(null)
      expect((await failureOf(() => register(acknowledged))).code).to.equal('storage_full')
      const backup = await failureOf(() => store.backup(join(folder, 'copy.db')))
      expect(backup.code).to.equal('storage_full')
      fillUp(join(folder, 'rest'))
      const kid = keys.current().signing.kid
      expect((await failureOf(() => keys.rotate())).code).to.equal('storage_full')
      expect(keys.current().signing.kid).to.equal(kid)
      const names = fs.readdirSync(folder)
      expect(names.filter(name => /\.(new|tmp)/.test(name))).to.deep.equal([])

      fs.rmSync(filler)
      expect(await register(acknowledged)).to.equal('created')
      await keys.rotate()
      await store.close()
      const again = await openSqliteStore({ file, clock })
      expect(await again.listAccounts({ limit: 9999 })).to.have.length(acknowledged + 1)
      expect((await openFileKeys(keyOptions(folder))).current().signing.kid).to.not.equal(kid)
      await again.close()
    })
  })
})

describe('account store on a disk that cannot be written', () => {
  it('is refused with its path', function () {
    return onSmallDisk(this, '1m', async folder => {
      const file = join(folder, 'registry.db')
      await (await openSqliteStore({ file, clock })).close()
      expect(spawnSync('mount', ['-o', 'remount,ro', folder]).status).to.equal(0)
      const failure = await failureOf(() => openSqliteStore({ file, clock }))
      expect(failure.code).to.equal('storage_failed')
      expect(failure.message).to.contain(folder).and.contain('EROFS')
    })
  })
})

describe('files of the accounts that belong to another user', () => {
  it('are refused with their path', function () {
    return withFolder(async folder => {
      if (process.geteuid?.() !== 0) skipBecause(this, 'needs Linux and root')
      const file = join(folder, 'registry.db')
      await (await openSqliteStore({ file, clock })).close()
      await openFileKeys(keyOptions(folder))
      for (const [name, open] of [
        ['registry.db', () => openSqliteStore({ file, clock })],
        ['keys.json', () => openFileKeys(keyOptions(folder))],
      ] as [string, () => Promise<unknown>][]) {
        fs.chownSync(join(folder, name), 65_534, 65_534)
        const failure = await failureOf(open)
        expect(failure.code).to.equal('registry_dir_unsafe')
        expect(failure.message).to.contain(join(folder, name)).and.contain('uid 65534')
      }
    })
  })
})
