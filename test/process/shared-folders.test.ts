import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createFsStore } from '../../src/server/artefacts/fs-store.ts'
import { withFolder } from '../helpers/folder.ts'
import { bytesOf, hexOf } from '../unit/artefacts/support.ts'

const script = join(import.meta.dirname, '../helpers/scripts', 'put-same.ts')

describe('folders that several processes write to', () => {
  it('have one whole entry for each artefact, under the latest expiry of all', () =>
    withFolder(async root => {
      const watching = await createFsStore({ root })
      const workers = ['0', '1']
      const run = promisify(execFile)
      const answers = await Promise.all(
        workers.map(worker => run(process.execPath, [script, root, worker, '100'])),
      )
      const created = answers.map(({ stdout }) => JSON.parse(stdout).created as number)

      const { refs } = await watching.page(undefined, 100)
      const shared = refs.filter(ref => ref.size_bytes === 'artefact 0'.length)
      // Number 4 was removed after every put of it; each of the others was created exactly once.
      expect(shared.map(ref => ref.expires_at).toSorted()).to.deep.equal([
        '2099-01-01T00:00:15.000Z',
        '2099-01-01T00:00:16.000Z',
        '2099-01-01T00:00:17.000Z',
        '2099-01-01T00:00:18.000Z',
      ])
      const total = created.reduce((sum, count) => sum + count, 0)
      expect(total).to.be.within(4 + 1, 4 + workers.length * 20)
      expect(refs.length - shared.length).to.equal(workers.length)
      for (const ref of refs) {
        expect(await bytesOf(watching, hexOf(ref))).to.have.length(ref.size_bytes)
      }
      expect(readdirSync(join(root, 'tmp'))).to.deep.equal([])
      expect(readdirSync(join(root, 'locks'))).to.deep.equal([])
      await watching.close()
    }))
})
