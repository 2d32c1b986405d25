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

  it('forgets the address that was counted first when there are too many', () => {
    const { failures, status } = setUp()
    for (const peer of ['a', 'a', 'b', 'b', 'c', 'd']) status(peer)
    expect(failures.size).to.equal(3)
    expect([status('b'), status('a')]).to.deep.equal([429, 401])
  })
})
