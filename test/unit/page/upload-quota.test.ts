import { expect } from 'chai'
import { UploadQuota } from '../../../src/server/page/sessions.ts'
import { settableClock } from '../../helpers/settable-clock.ts'

const hourMs = 3_600_000

describe('UploadQuota', () => {
  it('takes so many bytes in the hour from the first one on, then as many again', () => {
    const clock = settableClock()
    const quota = new UploadQuota(10, clock)
    expect(quota.take(6)).to.equal(true)
    clock.advance(hourMs - 1000)
    expect(quota.take(5)).to.equal(false)
    expect(quota.take(4)).to.equal(true)
    expect(quota.has(0)).to.equal(true)
    expect(quota.has(1)).to.equal(false)
    expect(quota.secondsLeft).to.equal(1)
    clock.advance(1000)
    expect(quota.take(10)).to.equal(true)
    expect(quota.take(1)).to.equal(false)
  })

  it('begins again when the clock was set back', () => {
    const clock = settableClock()
    const quota = new UploadQuota(10, clock)
    expect(quota.take(10)).to.equal(true)
    clock.advance(-2 * hourMs)
    expect(quota.take(10)).to.equal(true)
  })
})
