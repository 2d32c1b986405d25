import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { createEntryLocks, mayBreak } from '../../../src/server/artefacts/entry-lock.ts'
import { markState, ownMark } from '../../../src/server/artefacts/marks.ts'
import { withFolder } from '../../helpers/folder.ts'
import { skipBecause } from '../../helpers/skip.ts'

const own = ownMark()
const [place = ''] = own.split('-')

describe('process mark', () => {
  const cases: [string, string, string][] = [
    ['this process', own, 'alive'],
    ['a pid that is free', `${place}-4194303-1`, 'gone'],
    ['the pid of this process, of another start', `${place}-${process.pid}-1`, 'gone'],
    ['another machine', `00000000-${process.pid}-1`, 'unknown'],
    ['something else', 'x', 'unknown'],
    ['nothing', '', 'unknown'],
  ]
  for (const [name, mark, state] of cases) {
    it(`says ${state} of ${name}`, function () {
      // Without start times (macOS, Windows) a pid is all there is to go by.
      if (own.endsWith('-0') && mark.endsWith(`${process.pid}-1`))
        skipBecause(this, 'the mark of this process cannot be told from the made-up one')
      expect(markState(mark)).to.equal(state)
    })
  }
})

describe('entry locks', () => {
  it('breaks only locks of ended processes', () => {
    expect(mayBreak(`${own} x`, Infinity, 10)).to.equal(false)
    expect(mayBreak(`${place}-4194303-1 x`, 0, 10)).to.equal(true)
    expect(mayBreak('', 10, 10)).to.equal(false)
    expect(mayBreak('', 11, 10)).to.equal(true)
  })

  it('lets one task in at a time, also of two that share only the folder', () =>
    withFolder(async dir => {
      const both = [createEntryLocks({ dir, mark: own }), createEntryLocks({ dir, mark: own })]
      let inside = 0
      let most = 0
      const task = async () => {
        most = Math.max(most, ++inside)
        await new Promise(resolve => setImmediate(resolve))
        inside--
      }
      const work = both.flatMap(locks => Array.from({ length: 10 }, () => locks.hold('a', task)))
      await Promise.all(work)
      expect(most).to.equal(1)
      expect(fs.readdirSync(dir)).to.deep.equal([])
    }))

  it('takes over the lock of a process that is gone, and an empty one after its patience', () =>
    withFolder(async dir => {
      const locks = createEntryLocks({ dir, mark: own, patienceMs: 5 })
      for (const owner of [`${place}-4194303-1 x`, '']) {
        fs.writeFileSync(join(dir, 'a'), owner)
        expect(await locks.hold('a', async () => 7)).to.equal(7)
        expect(fs.readdirSync(dir)).to.deep.equal([])
      }
    }))

  it('does not wait when asked to try', () =>
    withFolder(async dir => {
      const locks = createEntryLocks({ dir, mark: own })
      const other = createEntryLocks({ dir, mark: own })
      await locks.hold('a', async () => {
        expect(await locks.tryHold('a', async () => 7)).to.equal(undefined)
        expect(await other.tryHold('a', async () => 7)).to.equal(undefined)
        expect(await other.tryHold('b', async () => 7)).to.equal(7)
      })
      expect(await locks.tryHold('a', async () => 7)).to.equal(7)
    }))

  it('is free again after an action that failed', () =>
    withFolder(async dir => {
      const locks = createEntryLocks({ dir, mark: own })
      let caught: unknown
      const failing = locks.hold('a', () => Promise.reject(new Error('no')))
      await failing.catch(error => (caught = error))
      expect(caught).to.be.instanceOf(Error)
      expect(await locks.hold('a', async () => 7)).to.equal(7)
    }))
})
