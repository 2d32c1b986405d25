import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import type { InstanceEntry } from '../../../src/server/gateway/instance-directory.ts'
import { entry } from '../../helpers/instances.ts'
import { eventsOf, gateway, id, other } from './gateway-harness.ts'

describe('updates of a gateway', () => {
  const roots = [
    'gateway://instances',
    'gateway://diagnostics/process',
    'gateway://diagnostics/metrics',
  ]

  it('are told of the list, the counts, and the instance', () => {
    const { directory, updates, time } = gateway()
    directory.put(entry({ instance_id: id }))
    time.advance(50)
    expect(updates).to.deep.equal([...roots, `gateway://instances/${id}`])
  })

  it('are told once of all that changes in an interval', () => {
    const { directory, updates, lists, time } = gateway()
    const told = (uri: string) => updates.filter(one => one === uri).length
    const one = `gateway://instances/${other}`
    for (let n = 0; n < 50; n++) {
      directory.put(entry({ instance_id: id, scene: `/${n}` }))
      directory.put(entry({ instance_id: other, scene: `/${n}` }))
    }
    time.advance(10_000)
    expect([told('gateway://instances'), told(one)]).to.deep.equal([1, 1])
    expect(lists.count).to.equal(1)
    directory.put(entry({ instance_id: other, scene: '/x' }))
    time.advance(50)
    expect([told('gateway://instances'), told(one)]).to.deep.equal([2, 2])
  })

  it('change the list when an instance comes, goes, dies or returns, and not else', () => {
    const { directory, lists, time } = gateway()
    const steps: [step: () => void, changes: number][] = [
      [() => directory.put(entry({ instance_id: id })), 1],
      [() => directory.put(entry({ instance_id: id, scene: '/b' })), 0],
      [() => directory.judge(id, 'stale', 'silent'), 0],
      [() => directory.judge(id, 'dead', 'ended'), 1],
      [() => directory.judge(id, 'live', 'back'), 1],
      [() => directory.judge(id, 'dead', 'ended'), 1],
      [() => directory.remove(id), 0],
      [() => directory.put(entry({ instance_id: id })), 1],
      [() => directory.remove(id), 1],
      [() => directory.fault({ source: 'x.json', reason: 'no JSON' }), 0],
    ]
    for (const [at, [step, changes]] of steps.entries()) {
      lists.count = 0
      step()
      time.advance(1000)
      expect(lists.count, `step ${at}`).to.equal(changes)
    }
  })

  it('end with the gateway, which stops following the directory', () => {
    const { directory, resources, updates, time } = gateway()
    directory.put(entry(), entry())
    resources.close()
    directory.put(entry())
    time.advance(10_000)
    expect([updates, directory.listening, time.waiting]).to.deep.equal([[], 0, 0])
  })
})

describe('events of a gateway', () => {
  const given = (health: InstanceEntry['verdict']['health'], status: 'available' | 'busy') =>
    entry({ instance_id: id, status }, { health, reason: 'why' })
  const live = given('live', 'available')
  const stale = given('stale', 'available')
  const dead = given('dead', 'available')
  const turns: [before: InstanceEntry, now: InstanceEntry | null, event: string | null][] = [
    [live, given('live', 'busy'), null],
    [live, stale, 'instance_stale'],
    [given('live', 'busy'), given('unhealthy', 'busy'), 'probe_unreachable'],
    [live, dead, 'instance_died'],
    [stale, live, 'instance_recovered'],
    [dead, live, 'instance_recovered'],
    [dead, stale, 'instance_stale'],
    [live, null, 'instance_gone'],
    [dead, null, 'instance_gone'],
  ]
  it('tell what an instance becomes, and nothing while its health stays the same', async () => {
    for (const [before, now, event] of turns) {
      const own = gateway()
      own.directory.put(before)
      if (now === null) own.directory.remove(id)
      else own.directory.put(now)
      const [first, ...others] = await eventsOf(own)
      expect(first).to.include({ event: 'instance_appeared', instance_id: 'a1b2c3d4' })
      expect(others.map(each => each.event)).to.deep.equal(event === null ? [] : [event])
      if (now !== null && event !== null) expect(others[0]).to.include({ reason: 'why' })
    }
  })
})

describe('subscriptions at a gateway', () => {
  const cases: [uri: string, canonical: string, pushes: boolean][] = [
    ['GATEWAY://instances?limit=1', 'gateway://instances?limit=1', true],
    [`gateway://instances/${id}`, `gateway://instances/${id}`, true],
    ['gateway://instances/%41%31b2?x=1', `gateway://instances/${id}`, true],
    [`gateway://instances/${other}`, `gateway://instances/${other}`, true],
    ['gateway://instances/ffff', 'gateway://instances/ffff', false],
    ['gateway://instances/xyz', 'gateway://instances/xyz', false],
    ['gateway://diagnostics/metrics', 'gateway://diagnostics/metrics', true],
    ['gateway://diagnostics/audit', 'gateway://diagnostics/audit', false],
    ['gateway://catalog?query=a', 'gateway://catalog?query=a', false],
    ['gateway://other', 'gateway://other', false],
    ['resources://gateway/events', 'resources://gateway/events', false],
  ]
  it('are taken for all that a gateway has, and for no other scheme', () => {
    const { directory, resources } = gateway()
    directory.put(entry({ instance_id: id }))
    for (const [uri, canonical, pushes] of cases) {
      expect(resources.assertSubscribable(uri)).to.equal(canonical)
      expect(resources.pushes(uri), uri).to.equal(pushes)
    }
    for (const uri of ['scene://current', 'artefact://x', 'x://y']) {
      expect(() => resources.assertSubscribable(uri), uri)
        .to.throw(ServiceError)
        .with.property('code', 'resource_not_found')
    }
  })
})
