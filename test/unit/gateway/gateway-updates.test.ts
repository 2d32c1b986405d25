import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { entry } from '../../helpers/memory-directory.ts'
import { gateway, id, other } from './gateway-harness.ts'

describe('updates of a gateway', () => {
  const roots = [
    'gateway://instances',
    'gateway://diagnostics/process',
    'gateway://diagnostics/metrics',
  ]

  it('are told of the list, the counts, and the instance under each beginning of its id', () => {
    const { directory, updates } = gateway()
    directory.put(entry({ instanceId: id }))
    const digits = id.replaceAll('-', '')
    const ones = Array.from(
      { length: 29 },
      (_, at) => `gateway://instances/${digits.slice(0, at + 4)}`,
    )
    expect(updates.toSorted()).to.deep.equal([...roots, ...ones].toSorted())
  })

  it('are told at most once in the interval, and then of all that changed', () => {
    const { directory, updates, time } = gateway()
    const told = (uri: string) => updates.filter(one => one === uri).length
    for (let n = 0; n < 50; n++) {
      directory.put(entry({ instanceId: id, scene: `/${n}` }))
      directory.put(entry({ instanceId: other, scene: `/${n}` }))
    }
    expect([told('gateway://instances'), told('gateway://instances/ffff')]).to.deep.equal([1, 0])
    time.advance(1000)
    expect([told('gateway://instances'), told('gateway://instances/ffff')]).to.deep.equal([2, 1])
    time.advance(10_000)
    expect(told('gateway://instances')).to.equal(2)
  })

  it('come for a record that is not understood: the list counts it', () => {
    const { directory, updates } = gateway()
    directory.fault({ source: 'x.json', reason: 'no JSON' })
    expect(updates.toSorted()).to.deep.equal(roots.toSorted())
  })

  it('find the event in the ring when they are told', () => {
    const { directory, resources, ring } = gateway()
    const seen: string[] = []
    resources.listen({ resourceUpdated: () => seen.push(ring.text()) })
    directory.put(entry({ instanceId: id }))
    expect(seen[0]).to.include('a1b2c3d4')
  })

  it('change the list when an instance comes, goes, dies or returns, and not else', () => {
    const { directory, lists, time } = gateway()
    const steps: [step: () => void, changes: number][] = [
      [() => directory.put(entry({ instanceId: id })), 1],
      [() => directory.put(entry({ instanceId: id, scene: '/b' })), 0],
      [() => directory.judge(id, 'stale', 'silent'), 0],
      [() => directory.judge(id, 'dead', 'ended'), 1],
      [() => directory.judge(id, 'live', 'back'), 1],
      [() => directory.judge(id, 'dead', 'ended'), 1],
      [() => directory.remove(id), 0],
      [() => directory.put(entry({ instanceId: id })), 1],
      [() => directory.remove(id), 1],
    ]
    for (const [at, [step, changes]] of steps.entries()) {
      lists.count = 0
      step()
      time.advance(1000)
      expect(lists.count, `step ${at}`).to.equal(changes)
    }
  })

  it('change the list at most once in the interval, and then for all of it', () => {
    const { directory, lists, time } = gateway()
    for (let n = 0; n < 50; n++) directory.put(entry())
    expect(lists.count).to.equal(1)
    time.advance(1000)
    expect(lists.count).to.equal(2)
    time.advance(10_000)
    expect(lists.count).to.equal(2)
  })

  it('come for the catalog and for each entry that is another', () => {
    const { catalog, updates } = gateway()
    const same = { name: 'same', description: 'd' }
    catalog.set(same, { name: 'changed', description: 'd' }, { name: 'gone', description: 'd' })
    updates.length = 0
    catalog.set(same, { name: 'changed', description: 'e' }, { name: 'new', description: 'd' })
    expect(updates).to.deep.equal([
      'gateway://catalog',
      'gateway://catalog/changed',
      'gateway://catalog/new',
      'gateway://catalog/gone',
    ])
  })

  it('end with the gateway, which stops following directory and catalog', () => {
    const { directory, catalog, resources, updates, time } = gateway()
    directory.put(entry(), entry())
    resources.close()
    updates.length = 0
    directory.put(entry())
    catalog.set()
    time.advance(10_000)
    expect(updates).to.deep.equal([])
    expect(directory.listening).to.equal(0)
    expect(catalog.isFollowed).to.equal(false)
    expect(time.waiting).to.equal(0)
  })
})

describe('subscriptions at a gateway', () => {
  const cases: [uri: string, canonical: string, pushes: boolean][] = [
    ['GATEWAY://instances?limit=1', 'gateway://instances?limit=1', true],
    [`gateway://instances/${id}`, `gateway://instances/${id.replaceAll('-', '')}`, true],
    ['gateway://instances/%41%31b2?x=1', 'gateway://instances/a1b2', true],
    ['gateway://instances/A1-B', 'gateway://instances/a1b', false],
    ['gateway://instances/xyz', 'gateway://instances/xyz', false],
    ['gateway://diagnostics/audit', 'gateway://diagnostics/audit', false],
    ['gateway://catalog?query=a', 'gateway://catalog?query=a', true],
    ['gateway://other', 'gateway://other', false],
    ['resources://gateway/events', 'resources://gateway/events', false],
  ]
  for (const [uri, canonical, pushes] of cases) {
    it(`are taken for ${uri}, ${pushes ? 'and' : 'never'} pushed`, () => {
      const { resources } = gateway()
      expect(resources.assertSubscribable(uri)).to.equal(canonical)
      expect(resources.canonical(uri)).to.equal(canonical)
      expect(resources.pushes(uri)).to.equal(pushes)
    })
  }

  it('are refused for schemes that a gateway has not', () => {
    const { resources } = gateway()
    for (const uri of ['scene://current', 'artefact://x', 'capture://current_window', 'x://y']) {
      expect(() => resources.assertSubscribable(uri), uri)
        .to.throw(ServiceError)
        .with.property('code', 'resource_not_found')
    }
  })
})
