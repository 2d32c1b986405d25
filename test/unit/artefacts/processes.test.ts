import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createFsStore } from '../../../src/server/artefacts/fs-store.ts'
import { withFolder } from '../../helpers/folder.ts'
import { collect } from './support.ts'

const script = join(import.meta.dirname, '../../helpers/scripts', 'put-same.ts')

describe('artefact store shared by processes', () => {
  it('ends with one whole entry each, under the latest expiry of all', () => {
    return withFolder(async root => {
      const watching = await createFsStore({ root })
      const workers = ['0', '1', '2', '3', '4']
      const run = promisify(execFile)
      const work = workers.map(worker => run(process.execPath, [script, root, worker, '40']))
      const answers = await Promise.all(work)
      const created = answers.map(({ stdout }) => JSON.parse(stdout).created as number)

      const { refs } = await watching.page(undefined, 100)
      const shared = refs.filter(ref => ref.size_bytes === 'artefact 0'.length)
      // Number 4 was removed after every put of it; each of the others was created exactly once.
      expect(shared.map(ref => ref.expires_at).toSorted()).to.deep.equal([
        '2099-01-01T00:00:45.000Z',
        '2099-01-01T00:00:46.000Z',
        '2099-01-01T00:00:47.000Z',
        '2099-01-01T00:00:48.000Z',
      ])
      const total = created.reduce((sum, count) => sum + count, 0)
      expect(total).to.be.within(4 + 1, 4 + workers.length * 8)
      expect(refs.length - shared.length).to.equal(workers.length)
      for (const ref of refs) {
        const artefact = await watching.open(ref.digest.slice(7))
        if (artefact === null) throw new Error(`${ref.uri} is listed but cannot be opened`)
        expect(await collect(artefact.verified())).to.have.length(ref.size_bytes)
        await artefact.close()
      }
      expect(readdirSync(join(root, 'tmp'))).to.deep.equal([])
      expect(readdirSync(join(root, 'locks'))).to.deep.equal([])
      await watching.close()
    })
  })
})
