import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { newFolder } from '../helpers/cleanup.ts'
import { bytesOf, hexOf, openFolder } from '../unit/artefacts/support.ts'

const scripts = join(import.meta.dirname, '../helpers/scripts')
const script = join(scripts, 'put-same.ts')

describe('folders that several processes write to', () => {
  it('have one whole entry for each artefact', async () => {
    const root = newFolder()
    const watching = await openFolder(root)
    const workers = ['0', '1']
    const run = promisify(execFile)
    await Promise.all(workers.map(worker => run(process.execPath, [script, root, worker, '100'])))

    const { refs } = await watching.page(undefined, 100)
    const shared = refs.filter(ref => ref.size_bytes === 'artefact 0'.length)
    // Number 4 was removed after every put of it.
    expect(shared.length).to.be.within(4, 5)
    expect(refs.length - shared.length).to.equal(workers.length)
    for (const ref of refs) {
      expect(await bytesOf(watching, hexOf(ref))).to.have.length(ref.size_bytes)
    }
    expect(readdirSync(join(root, 'tmp'))).to.deep.equal([])
    await watching.close()
  })
})
