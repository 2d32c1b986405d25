import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { defaultLimits } from '../../../src/lib/config/limits.ts'
import { ownMark } from '../../../src/server/artefacts/marks.ts'
import { withFolder } from '../../helpers/folder.ts'
import { settableClock } from '../../helpers/settable-clock.ts'
import { age, bytesHashedTo, noTimers, open, sha256, writeOrphan } from './support.ts'

describe('filesystem artefact store shared by processes', () => {
  it('shows the changes of one store in another', () =>
    withFolder(async root => {
      const [one, two] = [await open(root), await open(root)]
      for (let at = 0; at < 20; at++) {
        const { ref } = await one.put(bytesHashedTo('0'), { displayName: `n${at}` })
        const hex = ref.digest.slice(7)
        expect(await two.find(hex), `find ${at}`).to.deep.equal(ref)
        expect((await two.page(undefined, 100)).refs, `page ${at}`).to.have.length(at + 1)
      }
      const bytes = bytesHashedTo('0')
      await one.put(bytes, { displayName: 'first' })
      await two.page(undefined, 100)
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

  it('announces changes of another store at the next poll', () =>
    withFolder(async root => {
      const one = await open(root)
      const two = await open(root, { limits: { ...noTimers, artefactPollMs: 5 } })
      const heard = new Promise<void>(resolve => two.onChange(resolve))
      await one.put(randomBytes(8))
      await heard
      await one.close()
      await two.close()
    }))

  it('does not remove an expired artefact that another store renewed', () =>
    withFolder(async root => {
      let time = Date.parse('2030-01-01T00:00:00Z')
      const clock = { now: () => time }
      const ttl = { ...noTimers, artefactTtlMs: 1000 }
      const [one, two] = [
        await open(root, { clock, limits: ttl }),
        await open(root, { clock, limits: ttl }),
      ]
      const bytes = randomBytes(8)
      await one.put(bytes)
      await two.page(undefined, 1)
      time += 999
      const { existed } = await one.put(bytes)
      time += 1
      await two.sweep()
      expect(existed).to.equal(true)
      expect(await one.find(sha256(bytes))).to.not.equal(null)
      await one.close()
      await two.close()
    }))

  it('does not evict the oldest artefact when another store renewed it', () =>
    withFolder(async root => {
      const clock = settableClock()
      const one = await open(root, { clock })
      const two = await open(root, { clock, limits: { ...noTimers, maxArtefacts: 2 } })
      const old = randomBytes(8)
      for (const bytes of [old, randomBytes(8)]) {
        await one.put(bytes)
        clock.advance(1)
      }
      await two.page(undefined, 9)
      await one.put(old)
      clock.advance(1)
      await two.put(randomBytes(8))
      expect(await one.find(sha256(old))).to.not.equal(null)
      await two.sweep()
      expect((await one.page(undefined, 9)).refs).to.have.length(2)
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
      expect(await two.find(ref.digest.slice(7))).to.deep.equal(ref)
      await one.close()
      await two.close()
    }))

  it('reads no sidecar and no folder for a page of an unchanged store', () =>
    withFolder(async root => {
      const writer = await open(root)
      for (let at = 0; at < 40; at++) await writer.put(randomBytes(8))
      await writer.close()
      age(root)
      const work = { shardChecks: 0, shardScans: 0, sidecarReads: 0, bodiesHashed: 0 }
      // Without the poll, only the change mark says that there is something to look at.
      const limits = { ...defaultLimits, artefactPollMs: 0 }
      const store = await open(root, { work, limits })
      expect(work.sidecarReads).to.equal(40)
      const before = { ...work }
      for (let round = 0; round < 5; round++) await store.page(undefined, 500)
      expect(work.shardScans).to.equal(before.shardScans)
      expect(work.sidecarReads).to.equal(before.sidecarReads)
      expect(work.shardChecks).to.equal(before.shardChecks)

      const other = await open(root)
      const { ref } = await other.put(bytesHashedTo('7f'))
      expect((await store.page(undefined, 1)).refs[0]).to.deep.equal(ref)
      expect(work.shardScans).to.equal(before.shardScans + 1)
      const checks = work.shardChecks
      await other.put(bytesHashedTo('7f'))
      await Promise.all(Array.from({ length: 50 }, () => store.page(undefined, 500)))
      expect(work.shardChecks, 'one look for all').to.equal(checks + 256)
      await other.close()
      await store.close()
    }))

  it('removes the files of interrupted processes and keeps those of running ones', () =>
    withFolder(async root => {
      const store = await open(root)
      const kept = (await store.put(randomBytes(8))).ref
      const gone = ownMark().replace(/-\d+-\d+$/, '-4194303-1')
      const orphan = bytesHashedTo('1')
      const path = writeOrphan(root, orphan)
      fs.writeFileSync(join(root, 'tmp', `${gone}.x`), 'half')
      fs.writeFileSync(join(root, 'tmp', `00000000-1-1.x`), 'of another machine')
      fs.writeFileSync(join(root, 'locks', sha256(orphan)), `${gone} x`)
      const started = Promise.withResolvers<void>()
      const finish = Promise.withResolvers<void>()
      const running = store.put(
        (async function* () {
          yield randomBytes(8)
          started.resolve()
          await finish.promise
        })(),
      )
      await started.promise

      const next = await open(root)
      expect(fs.existsSync(path)).to.equal(false)
      expect(fs.readdirSync(join(root, 'locks'))).to.deep.equal([])
      expect(fs.readdirSync(join(root, 'tmp'))).to.have.length(2)
      expect(await next.find(kept.digest.slice(7))).to.deep.equal(kept)
      finish.resolve()
      expect((await running).existed).to.equal(false)
      await next.close()
      await store.close()
    }))

  it('keeps a body without sidecar while its entry is locked by a running process', () =>
    withFolder(async root => {
      const bytes = randomBytes(8)
      await (await open(root)).close()
      const path = writeOrphan(root, bytes)
      const lock = join(root, 'locks', sha256(bytes))
      fs.writeFileSync(lock, `${ownMark()} x`)
      const store = await open(root)
      expect(fs.existsSync(path)).to.equal(true)
      fs.rmSync(lock)
      await store.sweep()
      expect(fs.existsSync(path)).to.equal(false)
      await store.close()
    }))
})
