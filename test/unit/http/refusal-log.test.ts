import { expect } from 'chai'
import { createRefusalLog } from '../../../src/server/http/refusal-log.ts'

describe('createRefusalLog', () => {
  const recordedAt = (timesMs: number[]) => {
    const recorded: number[] = []
    const clock = { nowMs: 0, now: () => clock.nowMs }
    const onRefused = createRefusalLog(clock, () => recorded.push(clock.nowMs))
    for (const nowMs of timesMs) {
      clock.nowMs = nowMs
      onRefused({ status: 401, reason: 'invalid_token', peer: '192.0.2.1' })
    }
    return recorded
  }

  it('lets one refusal for each peer and second through', () => {
    expect(recordedAt([5000, 5001, 5999, 6000, 6001])).to.deep.equal([5000, 6000])
  })

  it('goes on when the clock is set back', () => {
    expect(recordedAt([100_000, 2000, 2001])).to.deep.equal([100_000, 2000])
  })
})
