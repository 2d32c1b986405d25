import { expect } from 'chai'
import { eventOf } from '../../../src/server/gateway/announce-changes.ts'
import type { InstanceChange } from '../../../src/server/gateway/instance-directory.ts'
import type { RowStatus } from '../../../src/server/gateway/instance-rows.ts'
import { entry } from '../../helpers/memory-directory.ts'

const instanceId = 'a1b2c3d4-0000-4000-8000-000000000001'
const given = (
  health: 'live' | 'stale' | 'unhealthy' | 'dead',
  status: 'available' | 'busy' = 'available',
) => entry({ instanceId, status }, { health, reason: 'why' })

describe('eventOf', () => {
  const turns: [
    before: RowStatus | undefined,
    now: ReturnType<typeof given>,
    event: string | null,
  ][] = [
    ['available', given('live', 'busy'), null],
    ['available', given('stale'), 'instance_stale'],
    ['busy', given('unhealthy'), 'probe_unreachable'],
    ['available', given('dead'), 'instance_died'],
    ['stale', given('live'), 'instance_recovered'],
    ['dead', given('live'), 'instance_recovered'],
    ['dead', given('stale'), 'instance_stale'],
  ]
  for (const [before, now, event] of turns) {
    const { health } = now.verdict
    it(`is ${event} when ${before} becomes ${health} (${now.record.status})`, () => {
      const found = eventOf({ kind: 'changed', entry: now }, before)
      expect(found?.event ?? null).to.equal(event)
      if (event === null) return
      expect(found).to.include({ dccType: 'blender', instanceId: 'a1b2c3d4', reason: 'why' })
    })
  }

  const others: [what: string, change: InstanceChange, event: string][] = [
    ['one appears', { kind: 'appeared', entry: given('live') }, 'instance_appeared'],
    ['a live one goes', { kind: 'gone', entry: given('live') }, 'instance_gone'],
    ['a dead one goes', { kind: 'gone', entry: given('dead') }, 'ghost_reaped'],
  ]
  for (const [what, change, event] of others) {
    it(`is ${event} when ${what}`, () => {
      expect(eventOf(change, undefined)).to.include({ event, instanceId: 'a1b2c3d4' })
    })
  }

  it('is instance_gone with the cause when one that joined has left', () => {
    const facts = { accountId: 'a', owner: 'ada', team: null, name: 'ws' }
    const joined = { ...facts, visibility: 'owner' as const }
    const left = entry({ instanceId, joined }, { health: 'dead', reason: 'why' })
    expect(eventOf({ kind: 'gone', entry: left }, 'available')).to.include({
      event: 'instance_gone',
      reason: 'why',
    })
  })
})
