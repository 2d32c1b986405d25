import { expect } from 'chai'
import { watchSilence } from '../../../src/lib/host-link/status-watch.ts'
import { ManualTime } from '../resources/manual-time.ts'

function watched() {
  const time = new ManualTime()
  const over = new AbortController()
  let said = 0
  const silent = () => void said++
  const parts = { timer: time, clock: time, silenceMs: 3000, signal: over.signal, silent }
  return { time, over, heard: watchSilence(parts), said: () => said }
}

describe('the watch for silence', () => {
  it('says so when nothing is heard, at the second look', () => {
    const { time, said } = watched()
    time.advance(3000)
    expect(said()).to.equal(0)
    time.advance(100)
    expect(said()).to.equal(1)
  })

  it('says nothing when what was queued in a pause of the process is heard after the first look', () => {
    const { time, heard, said } = watched()
    time.advance(60_000)
    heard()
    time.advance(2999)
    expect(said()).to.equal(0)
  })

  it('counts from what was heard last', () => {
    const { time, heard, said } = watched()
    for (let n = 0; n < 10; n++) {
      time.advance(2000)
      heard()
    }
    expect(said()).to.equal(0)
    time.advance(3000)
    time.advance(3000)
    expect(said()).to.equal(1)
  })

  it('is over when its link is', () => {
    const { time, over, said } = watched()
    over.abort()
    time.advance(10_000)
    expect(said()).to.equal(0)
  })
})
