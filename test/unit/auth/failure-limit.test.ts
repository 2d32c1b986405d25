import { expect } from 'chai'
import { FailureLimit } from '../../../src/server/auth/failure-limit.ts'
import type { AuthRefused } from '../../../src/server/http/authentication.ts'

const wrong: AuthRefused = { ok: false, status: 401, error: 'invalid_token', description: 'wrong' }

describe('FailureLimit', () => {
  function setUp(maxAuthFailurePeers = 3) {
    const ticks = { nowMs: 0, now: () => ticks.nowMs }
    const limits = { maxAuthFailures: 2, authFailureWindowMs: 60_000, maxAuthFailurePeers }
    const failures = new FailureLimit({ ticks, limits })
    return { ticks, failures, status: (peer: string) => failures.refused(peer, wrong).status }
  }

  it('refuses with 429 beyond the limit, until the time since the first one is over', () => {
    const { ticks, failures, status } = setUp()
    expect([status('a'), status('a'), status('a')]).to.deep.equal([401, 401, 429])
    ticks.nowMs = 59_500
    expect(failures.refused('a', wrong)).to.deep.include({ status: 429, retryAfterSeconds: 1 })
    ticks.nowMs = 60_000
    expect([status('a'), status('a'), status('a')]).to.deep.equal([401, 401, 429])
  })

  it('forgets the address that was counted first when there are too many', () => {
    const { failures, status } = setUp()
    for (const peer of ['a', 'a', 'b', 'b', 'c', 'd']) status(peer)
    expect(failures.size).to.equal(3)
    expect([status('b'), status('a')]).to.deep.equal([429, 401])
  })
})
