import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { createFsStore } from '../../src/server/artefacts/fs-store.ts'
import { failureOf, withFolder } from '../server/artefacts/support.ts'
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
