import { expect } from 'chai'
import { skipBecause } from '../../../helpers/skip.ts'
import {
  familyOf,
  parentInProc,
  parseParent,
} from '../../../../src/server/capture/window/process-family.ts'

const parents: Record<number, number> = { 10: 1, 20: 10, 30: 20, 40: 1, 50: 51, 51: 50 }
const parentOf = (pid: number): number | null => parents[pid] ?? null

describe('familyOf', () => {
  const inFamily = familyOf(10, parentOf, 8)
  for (const [pid, expected] of [
    [10, true],
    [20, true],
    [30, true],
    [40, false],
    [1, false],
    [99, false],
    [0, false],
    [-10, false],
    [50, false],
  ] as const) {
    it(`says ${expected} for process ${pid} of the family of 10`, () => {
      expect(inFamily(pid)).to.equal(expected)
    })
  }

  it('does not follow parents further than it may', () => {
    expect(familyOf(10, parentOf, 1)(30)).to.equal(false)
    expect(familyOf(10, parentOf, 2)(30)).to.equal(true)
  })

  it('counts a process alone that this program was started by, as all of a session was', () => {
    const ofSession = familyOf(10, parentOf, 8, 30)
    expect([10, 20, 30].map(ofSession)).to.deep.equal([true, false, false])
    expect(familyOf(30, parentOf, 8, 30)(30)).to.equal(true)
  })

  it('knows no family of an unknown process', () => {
    expect(familyOf(null, parentOf, 8)(10)).to.equal(false)
  })

  it('asks about each process once', () => {
    const asked: number[] = []
    const once = familyOf(10, pid => (asked.push(pid), parentOf(pid)), 8, 10)
    once(30)
    once(30)
    expect(asked).to.deep.equal([30, 20])
  })
})

describe('parseParent', () => {
  for (const [text, expected] of [
    ['7 (blender) S 3 7 7 0 -1', 3],
    ['7 (a) b) S 9 (x) S 4 7 7 0 -1', 4],
    ['7 (blender) S', null],
    ['7 (blender) S x 7', null],
    ['', null],
  ] as const) {
    it(`reads ${expected} from ${JSON.stringify(text)}`, () => {
      expect(parseParent(text)).to.equal(expected)
    })
  }

  it('agrees with the system about this process', function () {
    if (process.platform !== 'linux') skipBecause(this, 'there is no /proc')
    expect(parentInProc(process.pid)).to.equal(process.ppid)
  })

  it('knows no parent of a process that does not exist', () => {
    expect(parentInProc(2 ** 30)).to.equal(null)
  })
})
