import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { readAudit } from '../../../../src/server/accounts/admin/audit.ts'
import { backUp } from '../../../../src/server/accounts/admin/backup.ts'
import { failureOf } from '../../../helpers/failure.ts'
import { withAdmin } from './support.ts'

describe('backup of a registry', () => {
  it('is a folder of database, keys and a list of both, for this user alone', () =>
    withAdmin(async ({ admin, folder, files }) => {
      const out = join(folder, 'copy')
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

  it('takes an empty folder, and closes it to others', () =>
    withAdmin(async ({ admin, folder }) => {
      const out = join(folder, 'copy')
      fs.mkdirSync(out, { mode: 0o755 })
      await backUp(admin, out)
      expect(fs.statSync(out).mode & 0o777).to.equal(0o700)
    }))

  it('replaces nothing, and follows no symbolic link', () =>
    withAdmin(async ({ admin, folder }) => {
      const full = join(folder, 'full')
      const file = join(folder, 'file')
      const link = join(folder, 'link')
      fs.mkdirSync(full)
      fs.writeFileSync(join(full, 'precious'), 'x')
      fs.writeFileSync(file, 'x')
      fs.mkdirSync(join(folder, 'victim'))
      fs.symlinkSync(join(folder, 'victim'), link)
      for (const taken of [full, file, link]) {
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
