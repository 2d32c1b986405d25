import { expect } from 'chai'
import {
  type Judgement,
  type LifeFacts,
  type ProbeFacts,
  judgeLife,
  judgeProbe,
} from '../../../src/server/gateway/verdict.ts'
import { defaultBounds } from '../../helpers/bounds.ts'

describe('judgeLife', () => {
  const usual: LifeFacts = {
    pid: 12,
    process: 'running',
    beatsSinceGone: 0,
    heartbeatAgeMs: 4000,
    status: 'available',
  }
  const old = { heartbeatAgeMs: 30_001 }
  const never = { heartbeatAgeMs: null }
  const table: [what: string, facts: Partial<LifeFacts>, health: string, reason: string][] = [
    ['runs and beats', {}, 'live', 'its process runs and its heartbeat is fresh'],
    ['is starting', { status: 'booting' }, 'live', 'fresh'],
    ['is on another machine', { process: 'elsewhere' }, 'live', 'on another machine'],
    ['is silent', old, 'stale', 'no heartbeat for more than 30 s, though its process 12 runs'],
    ['is silent elsewhere', { ...old, process: 'elsewhere' }, 'stale', 'on another machine'],
    ['was never heard', never, 'stale', 'older than 30 s when it was first seen'],
    ['says it is unreachable', { status: 'unreachable' }, 'unhealthy', 'reports that'],
    ['has ended', { process: 'gone' }, 'dead', 'its process 12 has ended'],
    ['lost its pid', { process: 'replaced' }, 'dead', 'another process now has its process id 12'],
    ['ended unheard', { ...never, process: 'gone' }, 'dead', 'ended'],
    ['was touched once since', { process: 'gone', beatsSinceGone: 1 }, 'dead', 'ended'],
    ['beats on unseen', { process: 'gone', beatsSinceGone: 2 }, 'live', 'cannot be seen from here'],
    [
      'beats under a lost pid',
      { process: 'replaced', beatsSinceGone: 2 },
      'live',
      'cannot be seen',
    ],
    ['beat on for a while', { ...old, process: 'gone', beatsSinceGone: 9 }, 'dead', 'ended'],
  ]
  for (const [what, facts, health, reason] of table) {
    it(`calls ${health} what ${what}`, () => {
      const judgement = judgeLife({ ...usual, ...facts })
      expect(judgement.health).to.equal(health)
      expect(judgement.reason).to.include(reason)
    })
  }

  it('gives the same reason as long as the verdict stays', () => {
    const ages = [30_001, 45_000, 1e9].map(heartbeatAgeMs =>
      judgeLife({ ...usual, heartbeatAgeMs }),
    )
    expect(new Set(ages.map(({ reason }) => reason)).size).to.equal(1)
  })
})

describe('judgeProbe', () => {
  const live: Judgement = { health: 'live', reason: 'fresh' }
  const stale: Judgement = { health: 'stale', reason: 'silent' }
  const dead: Judgement = { health: 'dead', reason: 'ended' }
  const refused = (failuresInARow: number): ProbeFacts => ({ failuresInARow, lastError: 'refused' })
  const unhealthy: Judgement = { health: 'unhealthy', reason: 'it is not ready: refused' }
  const table = [
    ['was not asked yet', live, 'available', null, live],
    ['answered', live, 'available', refused(0), live],
    ['failed once', live, 'available', refused(1), live],
    ['failed twice', live, 'available', refused(2), unhealthy],
    ['is starting', live, 'booting', refused(9), live],
    ['is silent anyway', stale, 'available', refused(9), stale],
    ['is dead anyway', dead, 'available', refused(9), dead],
  ] as const
  for (const [what, life, status, probe, expected] of table) {
    it(`gives ${expected.health} to one that ${what}`, () => {
      expect(judgeProbe(life, { status }, probe, defaultBounds)).to.deep.equal(expected)
    })
  }
})
