import { expect } from 'chai'
import { skipBecause } from '../../helpers/skip.ts'
import { chooseWindow, type WindowFacts } from '../../../src/server/capture/window/choose-window.ts'
import {
  familyOf,
  parentInProc,
  parseParent,
} from '../../../src/server/capture/window/process-family.ts'

const facts = (id: number, more: Partial<WindowFacts> = {}): WindowFacts => ({
  id,
  pid: 10,
  title: 'scene.blend',
  width: 800,
  height: 600,
  z: id,
  active: false,
  minimised: false,
  dialog: false,
  ...more,
})

const ofTen = { pid: 10, title: null }
const inFamily = (pid: number): boolean => pid === 10 || pid === 11

describe('chooseWindow', () => {
  const cases: [name: string, windows: WindowFacts[], expected: number | string][] = [
    ['takes a window of a process it started', [facts(1, { pid: 11 })], 1],
    [
      'prefers a window of the process itself to an active and higher one of a process it started',
      [facts(1), facts(2, { pid: 11, active: true })],
      1,
    ],
    [
      'shows no window of a process it started while its own is minimised',
      [facts(1, { minimised: true }), facts(2, { pid: 11 })],
      'minimised',
    ],
    [
      'never takes the window of another process, nor one that tells none',
      [facts(1, { pid: 12, active: true }), facts(2, { pid: null, active: true })],
      'no_window',
    ],
    ['prefers the active window to a higher one', [facts(1, { active: true }), facts(2)], 1],
    ['takes an active dialog', [facts(1, { active: true, dialog: true }), facts(2)], 1],
    ['takes the highest when none is active', [facts(1), facts(3), facts(2)], 3],
    ['takes the larger of equally high ones', [facts(1), facts(2, { z: 1, width: 900 })], 2],
    ['passes over dialogs', [facts(1), facts(2, { dialog: true })], 1],
    ['passes over minimised windows', [facts(1), facts(2, { minimised: true })], 1],
    [
      'does not take a minimised window that is active',
      [facts(1, { minimised: true, active: true })],
      'minimised',
    ],
    [
      'does not show a left dialog for a minimised main window',
      [facts(1, { minimised: true }), facts(2, { dialog: true })],
      'minimised',
    ],
  ]
  for (const [name, windows, expected] of cases) {
    it(name, () => {
      const chosen = chooseWindow(windows, ofTen, inFamily)
      expect(chosen.ok ? chosen.value.id : chosen.failure.reason).to.equal(expected)
    })
  }

  it('goes by part of the title alone when one is given, in any case', () => {
    const windows = [facts(1, { pid: null, title: 'Houdini FX' }), facts(2)]
    const chosen = chooseWindow(windows, { pid: 10, title: 'houdini' }, inFamily)
    expect(chosen.ok && chosen.value.id).to.equal(1)
    const empty = chooseWindow(windows, { pid: 10, title: '' }, inFamily)
    expect(empty).to.have.nested.property('failure.reason', 'no_window')
  })

  it('finds nothing when neither process nor title is known', () => {
    const chosen = chooseWindow([facts(1)], { pid: null, title: null }, () => true)
    expect(chosen).to.have.nested.property('failure.message').that.includes('not known')
  })
})

describe('familyOf', () => {
  const parents: Record<number, number> = { 10: 1, 20: 10, 30: 20, 40: 1, 50: 51, 51: 50 }
  const asked: number[] = []
  const parentOf = (pid: number): number | null => {
    asked.push(pid)
    return parents[pid] ?? null
  }

  it('has a process and those that it started, and no other', () => {
    const inFamily = familyOf(10, parentOf, 8)
    expect([10, 20, 30].filter(inFamily)).to.deep.equal([10, 20, 30])
    expect([40, 1, 99, 0, -10, 50].filter(inFamily)).to.deep.equal([])
    expect(familyOf(null, parentOf, 8)(10)).to.equal(false)
  })

  it('follows parents no further than it may, and asks about each process once', () => {
    expect(familyOf(10, parentOf, 1)(30)).to.equal(false)
    asked.length = 0
    const inFamily = familyOf(10, parentOf, 2, 10)
    expect([inFamily(30), inFamily(30)]).to.deep.equal([true, true])
    expect(asked).to.deep.equal([30, 20])
  })

  it('counts a process alone that this program was started by, as all of a session was', () => {
    const ofSession = familyOf(10, parentOf, 8, 30)
    expect([10, 20, 30].map(ofSession)).to.deep.equal([true, false, false])
  })

  it('reads the parent that the system tells', function () {
    for (const [text, expected] of [
      ['7 (a) b) S 9 (x) S 4 7 7 0 -1', 4],
      ['7 (blender) S', null],
      ['7 (blender) S x 7', null],
    ] as const) {
      expect(parseParent(text), text).to.equal(expected)
    }
    if (process.platform !== 'linux') skipBecause(this, 'there is no /proc')
    expect(parentInProc(process.pid)).to.equal(process.ppid)
    expect(parentInProc(2 ** 30)).to.equal(null)
  })
})
