import { expect } from 'chai'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { withFolder } from '../helpers/folder.ts'
import { bytesOf, hexOf, openFolder, sha256 } from '../unit/artefacts/support.ts'

const scripts = join(import.meta.dirname, '../helpers/scripts')
const script = join(scripts, 'put-same.ts')

describe('folders that several processes write to', () => {
  it('have one whole entry for each artefact', () =>
    withFolder(async root => {
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
    }))

  it('keep what is stored again while another process removes it', () =>
    withFolder(async root => {
      const other = spawn(process.execPath, [join(scripts, 'look-again.ts'), root])
      await once(other.stdout, 'data')
      const store = await openFolder(root, { limits: { artefactTtlMs: 0 } })
      const inMs = (ms: number) => ({ expires_at: new Date(Date.now() + ms).toISOString() })
      for (let round = 0; round < 12; round++) {
        const bodies = Array.from({ length: 40 }, (_, at) => Buffer.from(`${round} ${at}`))
        const beganMs = Date.now()
        await Promise.all(bodies.map(bytes => store.put(bytes, inMs(150))))
        const leftMs = Math.max(0, 148 - (Date.now() - beganMs)) + Math.random() * 6
        await new Promise(resolve => setTimeout(resolve, leftMs))
        await Promise.all(bodies.map(bytes => store.put(bytes, inMs(3_600_000))))
        await new Promise(resolve => setTimeout(resolve, 30))
        for (const bytes of bodies) {
          expect((await bytesOf(store, sha256(bytes))).equals(bytes)).to.equal(true)
        }
      }
      await store.close()
      other.kill('SIGKILL')
      await once(other, 'exit')
    }))
})
