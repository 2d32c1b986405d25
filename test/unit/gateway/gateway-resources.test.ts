import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { entry } from '../../helpers/memory-directory.ts'
import { gateway, id, json } from './gateway-harness.ts'
import { failureOf } from '../../helpers/failure.ts'

describe('resources of a gateway', () => {
  const unknown = [
    'gateway://',
    'gateway://other',
    'gateway://instances/',
    'gateway://instances/xyz',
    'gateway://instances/a1b2/scene',
    'gateway://diagnostics',
    'gateway://diagnostics/other',
    'gateway://catalog/',
    'gateway://catalog/none',
    'gateway://catalog/a/b',
    'gateway:instances',
    'gateway://instances#a',
    'resources://gateway/',
    'resources://events',
    'scene://current',
    'capture://current_window',
    `artefact://sha256/${'a'.repeat(64)}`,
  ]
  for (const uri of unknown) {
    it(`throws resource_not_found for ${uri}`, async () => {
      const given = gateway()
      given.directory.put(entry({ instanceId: id }))
      const error = await failureOf(() => given.resources.read(uri))
      expect(error.code).to.equal('resource_not_found')
      expect(error.data).to.deep.equal({ uri })
    })
  }

  it('returns the identical frozen answer until something changes', async () => {
    const given = gateway()
    given.directory.put(entry({ instanceId: id }))
    given.catalog.set({ name: 'a', description: 'b' })
    const uris = [
      'gateway://instances',
      'gateway://instances?verbose',
      `gateway://instances/${id}`,
      'gateway://diagnostics/metrics',
      'gateway://catalog?query=a',
      'gateway://catalog/a',
      'resources://gateway/events',
    ]
    for (const uri of uris) {
      const first = await given.resources.read(uri)
      expect(await given.resources.read(uri), uri).to.equal(first)
      expect(Object.isFrozen(first) && Object.isFrozen(first[0]), uri).to.equal(true)
    }
    const instances = await given.resources.read('gateway://instances')
    const events = await given.resources.read('resources://gateway/events')
    given.directory.judge(id, 'stale', 'silent')
    expect(await given.resources.read('gateway://instances')).not.to.equal(instances)
    expect(await given.resources.read('resources://gateway/events')).not.to.equal(events)
    const stale = await given.resources.read('gateway://instances')
    given.directory.fault({ source: 'x.json', reason: 'no JSON' })
    expect(await given.resources.read('gateway://instances')).not.to.equal(stale)
    expect(given.resources.page(undefined)).to.equal(given.resources.page(undefined))
  })

  it('lists a thousand instances at a time and continues with offset', async () => {
    const given = gateway()
    given.directory.put(...Array.from({ length: 1200 }, () => entry()))
    const first = await json(given, 'gateway://instances?limit=5000')
    expect(first).to.include({ total: 1200, capped: true, limit: 1000 })
    const second = await json(given, 'gateway://instances?offset=1000')
    expect(second).to.include({ total: 1200, capped: false, offset: 1000 })
    const rows = [...first.instances, ...second.instances]
    expect(new Set(rows.map(row => row.instance_id)).size).to.equal(1200)
  })

  it('refuses an ambiguous prefix with the number of digits needed', async () => {
    const given = gateway()
    given.directory.put(entry({ instanceId: id }))
    const error = await failureOf(() => given.resources.read('gateway://instances/a1b'))
    expect(error).to.include({ code: 'resource_uri_invalid' })
    expect(error.message).to.include('at least 4')
    expect(error.data).to.deep.equal({ uri: 'gateway://instances/a1b' })
  })

  it('lists a bounded number of candidates, dead ones too', async () => {
    const given = gateway({ maxLookupCandidates: 2 })
    for (let n = 0; n < 5; n++) {
      const instanceId = `abcd000${n}-0000-4000-8000-000000000000`
      given.directory.put(entry({ instanceId }, { health: n === 1 ? 'dead' : 'live' }))
    }
    const { code, data } = await failureOf(() => given.resources.read('gateway://instances/abcd'))
    expect(code).to.equal('resource_uri_invalid')
    expect(data).to.include({ total: 5 })
    expect(data?.candidates).to.deep.include.members([
      {
        instance_id: 'abcd0001-0000-4000-8000-000000000000',
        display_id: 'blender@4.2.0-abcd0001',
        display_name: 'Blender on desk',
        dcc_type: 'blender',
        status: 'dead',
        scene: '/shots/010/layout.blend',
      },
    ])
    expect(data?.candidates).to.have.length(2)
  })

  it('describes one instance in full', async () => {
    const given = gateway()
    given.directory.put(entry({ instanceId: id }))
    expect(await json(given, `gateway://instances/${id}`)).to.include({
      pid: 4711,
      hostname: 'desk',
    })
  })

  it('throws resource_uri_invalid for an invalid catalog parameter', async () => {
    const given = gateway()
    for (const uri of ['gateway://catalog?limit=x', 'resources://gateway/events?limit=x']) {
      expect(await failureOf(() => given.resources.read(uri)), uri).to.include({
        code: 'resource_uri_invalid',
      })
    }
  })

  it('refuses a subscription with an invalid parameter', () => {
    const { resources } = gateway()
    for (const uri of [
      'gateway://instances?limit=x',
      'gateway://catalog?offset=-1',
      'resources://gateway/events?limit=x',
    ]) {
      expect(() => resources.assertSubscribable(uri), uri)
        .to.throw(ServiceError)
        .with.property('code', 'resource_uri_invalid')
    }
  })

  it('pages the catalog by limit and offset and sets its counts', async () => {
    const given = gateway({ defaultCatalogLimit: 2 })
    given.catalog.set(...['a', 'b', 'c'].map(name => ({ name, description: 'd' })))
    const page = async (query: string) => {
      const payload = await json(given, `gateway://catalog${query}`)
      return [payload.entries.map((each: any) => each.name).join(''), payload.capped, payload.total]
    }
    expect(await page('')).to.deep.equal(['ab', true, 3])
    expect(await page('?offset=2')).to.deep.equal(['c', false, 3])
    expect(await page('?limit=3')).to.deep.equal(['abc', false, 3])
    expect(await page('?limit=0')).to.deep.equal(['a', true, 3])
    expect(await page('?query=nothing')).to.deep.equal(['', false, 0])
  })

  it('reports a catalog problem beside the last good entries', async () => {
    const given = gateway()
    given.catalog.state = { version: 2, entries: [], problem: 'it is empty' }
    expect(await json(given, 'gateway://catalog')).to.deep.include({
      source: 'file',
      query: null,
      problem: 'it is empty',
    })
  })
})
