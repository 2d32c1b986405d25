import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { createFsStore } from '../../src/server/artefacts/fs-store.ts'
import { failureOf } from '../helpers/failure.ts'
import { withFolder } from '../helpers/folder.ts'
import { root } from '../helpers/program.ts'
import { createAccountsOwner } from '../helpers/accounts-owner.ts'
import { startAccountsProcess } from '../helpers/accounts-process.ts'
import { skipBecause } from '../helpers/skip.ts'

describe('artefact folder of another user', () => {
  it('is refused with its path and what to do', function () {
    return withFolder(async folder => {
      if (process.geteuid?.() !== 0) {
        skipBecause(this, 'needs Linux and root')
      }
      const root = join(folder, 'root')
      fs.mkdirSync(root, { mode: 0o700 })
      fs.chownSync(root, 65_534, 65_534)
      const failure = await failureOf(() => createFsStore({ root }))
      expect(failure.code).to.equal('registry_dir_unsafe')
      expect(failure.message).to.contain(root)
      expect(failure.hint).to.be.a('string')
      expect(fs.readdirSync(root)).to.deep.equal([])
    })
  })
})

describe('data folder of a registry', () => {
  for (const part of ['', 'registry.db', 'keys.json']) {
    it(`is refused when ${part === '' ? 'it' : part} belongs to another user`, function () {
      return withFolder(async folder => {
        if (process.geteuid?.() !== 0) skipBecause(this, 'needs Linux and root')
        const dataDir = join(folder, 'data')
        await (await startAccountsProcess({ dataDir })).stop()
        fs.chownSync(join(dataDir, part), 65_534, 65_534)
        const words = ['rotate-key']
        const { code, stderr } = await createAccountsOwner(dataDir).run(words)
        expect(code, stderr).to.equal(2)
        expect(stderr).to.contain('belongs to another user').and.contain(join(dataDir, part))
        const args = ['bin/run.js', 'registry', '--port', '0', '--data-dir', dataDir]
        const start = spawnSync(process.execPath, args, { cwd: root, timeout: 20_000 })
        expect(start.status).to.equal(2)
        expect(String(start.stderr)).to.contain('belongs to another user')
      })
    })
  }
})
