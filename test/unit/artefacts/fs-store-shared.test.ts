import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { createEntryLocks } from '../../../src/server/artefacts/entry-lock.ts'
import { markState, ownMark } from '../../../src/server/artefacts/marks.ts'
import { withFolder } from '../../helpers/folder.ts'
import { settableClock } from '../../helpers/settable-clock.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { bytesHashedTo, hexOf, noTimers, open, sha256, writeOrphan } from './support.ts'

const own = ownMark()
const [place = ''] = own.split('-')
/** The mark of a process that ended: no process has such a number. */
const gone = `${place}-4194303-1`

describe('filesystem artefact store shared by processes', () => {
  it('shows the changes of one store in another, and tells of them at the next poll', () =>
    withFolder(async root => {
      const one = await open(root)
      const two = await open(root, { limits: { ...noTimers, artefactPollMs: 5 } })
      const heard = new Promise<void>(resolve => two.onChange(resolve))
      for (let at = 0; at < 20; at++) {
        const { ref } = await one.put(bytesHashedTo('0'), { displayName: `n${at}` })
        const hex = hexOf(ref)
        expect(await two.find(hex), `find ${at}`).to.deep.equal(ref)
        expect((await two.page(undefined, 100)).refs, `page ${at}`).to.have.length(at + 1)
      }
      await heard
      const bytes = bytesHashedTo('0')
      for (let at = 0; at < 10; at++) {
        const { ref } = await one.put(bytes, { displayName: `again${at}` })
        expect(await two.find(sha256(bytes))).to.deep.equal(ref)
      }
      await one.remove(sha256(bytes))
      expect(await two.find(sha256(bytes))).to.equal(null)
      expect((await two.page(undefined, 100)).refs).to.have.length(20)
      await one.close()
      await two.close()
    }))

  it('neither removes nor evicts an artefact that another store renewed', () =>
    withFolder(async root => {
      const clock = settableClock()
      const ttl = { ...noTimers, artefactTtlMs: 1000 }
      const one = await open(root, { clock, limits: ttl })
      const two = await open(root, { clock, limits: { ...ttl, maxArtefacts: 2 } })
      const old = randomBytes(8)
      await one.put(old)
      clock.advance(1)
      await one.put(randomBytes(8))
      await two.page(undefined, 9)
      clock.advance(998)
      expect((await one.put(old)).existed).to.equal(true)
      await two.put(randomBytes(8))
      expect(await one.find(sha256(old))).to.not.equal(null)
      clock.advance(1)
      await two.sweep()
      expect(await one.find(sha256(old))).to.not.equal(null)
      await one.close()
      await two.close()
    }))

  it('sees a change that left the folder time unchanged', () =>
    withFolder(async root => {
      const [one, two] = [await open(root), await open(root)]
      const shard = join(root, 'sha256', 'ab')
      // As on a file system whose clock ticks slowly: the first change and the second in one tick.
      const tick = new Date(Date.now() + 50_000)
      await one.put(bytesHashedTo('ab'))
      fs.utimesSync(shard, tick, tick)
      expect((await two.page(undefined, 9)).refs).to.have.length(1)
      const { ref } = await one.put(bytesHashedTo('ab'))
      fs.utimesSync(shard, tick, tick)
      expect((await two.page(undefined, 9)).refs).to.have.length(2)
      expect(await two.find(hexOf(ref))).to.deep.equal(ref)
      await one.close()
      await two.close()
    }))

  it('removes the files of interrupted processes and keeps those of running ones', () =>
    withFolder(async root => {
      const store = await open(root)
      const kept = (await store.put(randomBytes(8))).ref
      const orphan = bytesHashedTo('1')
      const path = writeOrphan(root, orphan)
      const beingStored = bytesHashedTo('2')
      const incomplete = writeOrphan(root, beingStored)
      const lock = join(root, 'locks', sha256(beingStored))
      fs.writeFileSync(lock, `${own} x`)
      fs.writeFileSync(join(root, 'tmp', `${own}.x`), 'being received')
      fs.writeFileSync(join(root, 'tmp', `${gone}.x`), 'half')
      fs.writeFileSync(join(root, 'tmp', `00000000-1-1.x`), 'of another machine')
      fs.writeFileSync(join(root, 'locks', sha256(orphan)), `${gone} x`)

      const next = await open(root)
      expect(fs.existsSync(path)).to.equal(false)
      expect(fs.existsSync(incomplete)).to.equal(true)
      expect(fs.readdirSync(join(root, 'locks'))).to.deep.equal([sha256(beingStored)])
      expect(fs.readdirSync(join(root, 'tmp'))).to.have.members([`${own}.x`, '00000000-1-1.x'])
      expect(await next.find(hexOf(kept))).to.deep.equal(kept)
      fs.rmSync(lock)
      await next.sweep()
      expect(fs.existsSync(incomplete)).to.equal(false)
      await next.close()
      await store.close()
    }))

  it('tells running processes from those that ended, and from those of other machines', function () {
    expect(markState(own)).to.equal('alive')
    expect(markState(gone)).to.equal('gone')
    expect(markState(`00000000-${process.pid}-1`)).to.equal('unknown')
    expect(markState('')).to.equal('unknown')
    // Without start times (macOS, Windows) a pid is all there is to go by.
    if (own.endsWith('-0')) skipBecause(this, 'the system tells no start times')
    expect(markState(`${place}-${process.pid}-1`)).to.equal('gone')
  })

  it('takes over the lock of a process that is gone, and an empty one after some time', () =>
    withFolder(async dir => {
      const locks = createEntryLocks({ dir, mark: own, patienceMs: 5 })
      for (const owner of [`${gone} x`, '']) {
        fs.writeFileSync(join(dir, 'a'), owner)
        expect(await locks.hold('a', async () => 7)).to.equal(7)
        expect(fs.readdirSync(dir)).to.deep.equal([])
      }
    }))
})
