import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { createFsStore } from '../../src/server/artefacts/fs-store.ts'
import { failureOf } from '../helpers/failure.ts'
import { sha256 } from '../unit/artefacts/support.ts'
import { fillUp, onSmallDisk } from './small-disk.ts'

describe('artefact store on a full disk', () => {
  it('says storage_full, leaves nothing behind and stays usable', function () {
    return onSmallDisk(this, '2m', async folder => {
      const root = join(folder, 'root')
      const store = await createFsStore({ root })
      const kept = randomBytes(500_000)
      await store.put(kept)
      for (const source of [randomBytes(3_000_000), pieces(3_000_000)]) {
        const failure = await failureOf(() => store.put(source))
        expect(failure.code).to.equal('storage_full')
        expect(failure.hint).to.be.a('string')
        expect(fs.readdirSync(join(root, 'tmp'))).to.deep.equal([])
        expect(fs.readdirSync(join(root, 'locks'))).to.deep.equal([])
      }
      const fitting = randomBytes(500_000)
      await store.put(fitting)
      expect(await store.find(sha256(fitting))).to.not.equal(null)

      // Not a byte left: even then something can be removed.
      fillUp(join(folder, 'filler'))
      const small = await failureOf(() => store.put(randomBytes(10)))
      expect(small.code).to.equal('storage_full')
      expect(await store.remove(sha256(fitting))).to.equal(true)
      await store.put(randomBytes(10))
      expect((await store.page(undefined, 9)).refs).to.have.length(2)
      await store.close()
    })
  })
})

async function* pieces(size: number) {
  for (let at = 0; at < size; at += 100_000) yield randomBytes(100_000)
}
