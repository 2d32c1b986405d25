import { expect } from 'chai'
import { lateReason } from '../../../../src/server/host/link/application.ts'

const limits = { linkHeartbeatMs: 5000, linkBusyMs: 2000 }
const nowMs = 1_000_000

describe('lateReason', () => {
  const cases: [
    what: string,
    ageMs: number,
    idleMs: number,
    busy: string | undefined,
    is: string,
  ][] = [
    ['the main thread is away', 0, 2001, undefined, 'host_busy'],
    ['it is away just as long as it may', 0, 2000, undefined, 'host_timeout'],
    ['it looks at the link', 0, 10, undefined, 'host_timeout'],
    ['it says what it does', 0, 10, 'rendering', 'host_busy'],
    ['it looked, and the next heartbeat is not due yet', 4999, 10, undefined, 'host_timeout'],
    ['it was away in a heartbeat still fresh', 9999, 60_000, undefined, 'host_busy'],
    ['the heartbeat is stale', 10_000, 60_000, 'rendering', 'host_timeout'],
  ]
  for (const [what, ageMs, main_idle_ms, busy, expected] of cases) {
    it(`is ${expected} when ${what}`, () => {
      const heartbeat = { main_idle_ms, ...(busy !== undefined && { busy }) }
      expect(lateReason({ atMs: nowMs - ageMs, heartbeat }, nowMs, limits)).to.equal(expected)
    })
  }

  it('is host_timeout before the first heartbeat', () => {
    expect(lateReason(null, nowMs, limits)).to.equal('host_timeout')
  })
})
