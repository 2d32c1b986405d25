import { expect } from 'chai'
import { setImmediate } from 'node:timers/promises'
import { Pacer } from '../../../../src/lib/mcp/client/watch.ts'
import { ManualTime } from '../../../server/resources/manual-time.ts'

function paced(run: (updates: number) => Promise<void> = async () => {}) {
  const time = new ManualTime()
  const runs: number[] = []
  const pacer = new Pacer({
    timer: time,
    minIntervalMs: 500,
    run: updates => {
      runs.push(updates)
      return run(updates)
    },
  })
  return { time, runs, pacer }
}

describe('Pacer', () => {
  it('runs at once for the first poke', () => {
    const { pacer, runs } = paced()
    pacer.poke()
    expect(runs).to.deep.equal([1])
  })

  it('runs twice a second at most when it is poked a hundred times a second, and loses none', async () => {
    const { time, pacer, runs } = paced()
    for (let at = 0; at < 300; at++) {
      pacer.poke()
      await setImmediate()
      time.advance(10)
    }
    time.advance(500)
    await setImmediate()
    expect(runs).to.have.length.within(6, 8)
    expect(runs.reduce((sum, updates) => sum + updates)).to.equal(300)
  })

  it('runs once more for pokes that came during the last run, and never two at a time', async () => {
    const gate = Promise.withResolvers<void>()
    const { time, pacer, runs } = paced(() => gate.promise)
    pacer.poke()
    pacer.poke()
    pacer.poke()
    time.advance(10_000)
    expect(runs).to.deep.equal([1])
    gate.resolve()
    await setImmediate()
    expect(runs).to.deep.equal([1, 2])
  })

  it('waits for the interval after a run that was short', async () => {
    const { time, pacer, runs } = paced()
    pacer.poke()
    await setImmediate()
    pacer.poke()
    time.advance(499)
    expect(runs).to.deep.equal([1])
    time.advance(1)
    expect(runs).to.deep.equal([1, 1])
  })

  it('runs no more when it was stopped', async () => {
    const { time, pacer, runs } = paced()
    pacer.poke()
    await setImmediate()
    pacer.poke()
    pacer.stop()
    time.advance(1000)
    pacer.poke()
    expect(runs).to.deep.equal([1])
  })
})
