import { expect } from 'chai'
import {
  chooseWindow,
  type WindowFacts,
} from '../../../../src/server/capture/window/choose-window.ts'

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
    ['takes the only window of the process', [facts(1)], 1],
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
    ['finds nothing without windows', [], 'no_window'],
    [
      'never takes the window of another process',
      [facts(1, { pid: 12, active: true })],
      'no_window',
    ],
    [
      'never takes a window that tells no process',
      [facts(1, { pid: null, active: true })],
      'no_window',
    ],
    ['prefers the active window to a higher one', [facts(1, { active: true }), facts(2)], 1],
    ['takes an active dialog', [facts(1, { active: true, dialog: true }), facts(2)], 1],
    ['takes the highest when none is active', [facts(1), facts(3), facts(2)], 3],
    [
      'does not heed the active window of another process',
      [facts(1), facts(2, { pid: 12, active: true })],
      1,
    ],
    [
      'takes the larger of equally high ones',
      [facts(1, { z: 5 }), facts(2, { z: 5, width: 900 })],
      2,
    ],
    ['passes over dialogs', [facts(1), facts(2, { dialog: true })], 1],
    ['passes over minimised windows', [facts(1), facts(2, { minimised: true })], 1],
    [
      'says when all are minimised',
      [facts(1, { minimised: true }), facts(2, { minimised: true })],
      'minimised',
    ],
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
    [
      'takes a dialog when there is nothing else',
      [facts(1, { dialog: true }), facts(2, { dialog: true })],
      2,
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
  })

  it('finds nothing by an empty title', () => {
    const chosen = chooseWindow([facts(1)], { pid: 10, title: '' }, inFamily)
    expect(chosen).to.have.nested.property('failure.reason', 'no_window')
  })

  it('finds nothing when neither process nor title is known', () => {
    const chosen = chooseWindow([facts(1)], { pid: null, title: null }, () => true)
    expect(chosen).to.have.nested.property('failure.message').that.includes('not known')
  })
})
