import { expect } from 'chai'
import { setImmediate } from 'node:timers/promises'
import { Throttle } from '../../../src/lib/mcp/throttle.ts'
import { ManualTime } from '../resources/manual-time.ts'

function paced(run: (updates: number) => Promise<void> = async () => {}, debounceMs?: number) {
  const time = new ManualTime()
  const runs: number[] = []
  const throttle = new Throttle({
    timer: time,
    clock: time,
    minIntervalMs: 500,
    debounceMs,
    run: updates => {
      runs.push(updates)
      return run(updates)
    },
  })
  return { time, runs, throttle }
}

describe('Throttle', () => {
  it('runs at once, then twice a second at most, and loses no trigger', async () => {
    const { time, throttle, runs } = paced()
    throttle.trigger()
    expect(runs).to.deep.equal([1])
    for (let at = 1; at < 300; at++) {
      throttle.trigger()
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
    const { time, throttle, runs } = paced(() => gate.promise)
    throttle.trigger()
    throttle.trigger()
    throttle.trigger()
    time.advance(10_000)
    expect(runs).to.deep.equal([1])
    gate.resolve()
    await setImmediate()
    expect(runs).to.deep.equal([1, 2])
  })

  it('runs once for a burst, when nothing was poked for the settle time', async () => {
    const { time, throttle, runs } = paced(undefined, 2000)
    for (let at = 0; at < 5; at++) {
      throttle.trigger()
      time.advance(1999)
    }
    expect(runs).to.deep.equal([])
    time.advance(1)
    expect(runs).to.deep.equal([5])
    await setImmediate()
    time.advance(60_000)
    expect(runs).to.deep.equal([5])
  })

  it('runs after ten settle times while pokes go on, and counts anew', async () => {
    const { time, throttle, runs } = paced(undefined, 1000)
    for (let at = 0; at < 41; at++) {
      throttle.trigger()
      time.advance(500)
      await setImmediate()
    }
    expect(runs).to.deep.equal([20, 20])
    time.advance(500)
    expect(runs).to.deep.equal([20, 20, 1])
  })
})
