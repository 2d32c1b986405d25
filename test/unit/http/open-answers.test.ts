import { expect } from 'chai'
import { expiryCheckMs, OpenAnswers } from '../../../src/server/http/open-answers.ts'

describe('OpenAnswers', () => {
  function setUp() {
    const time = { now: () => time.nowMs, nowMs: 0 }
    const waiting: (() => void)[] = []
    const timer = {
      after(delayMs: number, run: () => void) {
        expect(delayMs).to.equal(expiryCheckMs)
        waiting.push(run)
        return () => {}
      },
    }
    const open = new OpenAnswers({ clock: time, timer })
    const cut: string[] = []
    const answer = (name: string) => ({ destroy: () => void cut.push(name) })
    const tick = (nowMs: number) => {
      time.nowMs = nowMs
      for (const run of waiting.splice(0)) run()
    }
    return { open, cut, answer, tick, waiting }
  }

  it('cuts everything of one principal, and nothing else', () => {
    const { open, cut, answer } = setUp()
    open.add('a', undefined, answer('a1'))
    open.add('a', undefined, answer('a2'))
    open.add('b', undefined, answer('b'))
    open.cut('a')
    open.cut('nobody')
    expect(cut).to.deep.equal(['a1', 'a2'])
  })

  it('cuts nothing that is over', () => {
    const { open, cut, answer } = setUp()
    const over = open.add('a', 5, answer('a1'))
    over()
    over()
    const later = open.add('a', undefined, answer('a2'))
    over()
    open.cut('a')
    later()
    open.cut('a')
    expect(cut).to.deep.equal(['a2'])
  })

  it('cuts what has expired, however many expire at other times', () => {
    const { open, cut, answer, tick, waiting } = setUp()
    const overs = [open.add('a', 1500, answer('a')), open.add('b', 2500, answer('b'))]
    open.add('c', undefined, answer('c'))
    tick(1000)
    expect(cut).to.deep.equal([])
    tick(2000)
    expect(cut).to.deep.equal(['a'])
    overs[0]?.()
    tick(3000)
    expect(cut).to.deep.equal(['a', 'b'])
    overs[1]?.()
    tick(4000)
    expect(waiting, 'nothing is left to watch').to.deep.equal([])
  })
})
