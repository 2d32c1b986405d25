import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { entry } from '../../helpers/memory-directory.ts'
import { gateway, id, json, other } from './gateway-harness.ts'
import { failureOf } from '../../helpers/failure.ts'

describe('resources of a gateway', () => {
  const unknown = [
    'gateway://other',
    'gateway://instances/',
    'gateway://instances/xyz',
    'gateway://instances/a1b2/scene',
    'gateway://catalog/none',
    'gateway://catalog/a/b',
    'gateway:instances',
    'resources://gateway/',
    'scene://current',
  ]
  for (const uri of unknown) {
    it(`throw resource_not_found for ${uri}`, async () => {
      const given = gateway()
      given.directory.put(entry({ instanceId: id }))
      const error = await failureOf(() => given.resources.read(uri))
      expect(error.code).to.equal('resource_not_found')
      expect(error.data).to.deep.equal({ uri })
    })
  }

  it('return the identical frozen answer until something changes', async () => {
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
    expect(await given.resources.page(undefined)).to.equal(await given.resources.page(undefined))
  })

  it('refuse a prefix that is too short, with the number of digits needed', async () => {
    const given = gateway()
    given.directory.put(entry({ instanceId: id }))
    const error = await failureOf(() => given.resources.read('gateway://instances/a1b'))
    expect(error).to.include({ code: 'resource_uri_invalid' })
    expect(error.message).to.include('at least 4')
    expect(error.data).to.deep.equal({ uri: 'gateway://instances/a1b' })
  })

  it('list a bounded number of candidates, dead ones too', async () => {
    const given = gateway()
    for (let n = 0; n < 25; n++) {
      const instanceId = `abcd00${String(n).padStart(2, '0')}-0000-4000-8000-000000000000`
      given.directory.put(entry({ instanceId }, { health: n === 1 ? 'dead' : 'live' }))
    }
    const { code, data } = await failureOf(() => given.resources.read('gateway://instances/abcd'))
    expect(code).to.equal('resource_uri_invalid')
    expect(data).to.include({ total: 25 })
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
    expect(data?.candidates).to.have.length(20)
  })

  it('refuse an invalid parameter, at a read and at a subscription', async () => {
    const { resources } = gateway()
    for (const uri of [
      'gateway://instances?limit=x',
      'gateway://catalog?offset=-1',
      'resources://gateway/events?limit=x',
    ]) {
      const code = 'resource_uri_invalid'
      expect(await failureOf(() => resources.read(uri)), uri).to.include({ code })
      expect(() => resources.assertSubscribable(uri), uri)
        .to.throw(ServiceError)
        .with.property('code', code)
    }
  })

  it('page the catalog by limit and offset, with its counts, and tell its problem', async () => {
    const given = gateway()
    const names = Array.from({ length: 101 }, (_, at) => String(100 + at))
    given.catalog.set(...names.map(name => ({ name, description: 'd' })))
    const page = async (query: string) => {
      const { entries, capped, total } = await json(given, `gateway://catalog${query}`)
      return [entries.length, entries.at(-1)?.name, capped, total]
    }
    expect(await page('')).to.deep.equal([100, '199', true, 101])
    expect(await page('?offset=100')).to.deep.equal([1, '200', false, 101])
    expect(await page('?limit=0')).to.deep.equal([1, '100', true, 101])
    expect(await page('?query=nothing')).to.deep.equal([0, undefined, false, 0])
    given.catalog.state = { version: 9, entries: [], problem: 'it is empty' }
    expect(await json(given, 'gateway://catalog')).to.deep.include({
      source: 'file',
      query: null,
      problem: 'it is empty',
    })
  })
})

describe('gateway://diagnostics', () => {
  it('shows the process, and heartbeat and reason of every instance, dead ones too', async () => {
    const given = gateway()
    given.directory.put(
      entry({ instanceId: id }, { heartbeatMs: given.time.now() - 1200 }),
      entry({ instanceId: other }, { health: 'dead', reason: 'ended', heartbeatMs: 0 }),
    )
    given.directory.fault({ source: 'x.json', reason: 'no JSON' })
    const payload = await json(given, 'gateway://diagnostics/process')
    expect(payload).to.deep.include({
      success: true,
      index_health: 'degraded',
      faults: [{ source: 'x.json', reason: 'no JSON' }],
      message: '1 live, 0 stale, 0 unhealthy, 1 dead, 1 invalid record',
    })
    expect(payload.gateway).to.deep.include({
      server_name: 'service-cli',
      uptime_seconds: 61,
      node_version: process.versions.node,
    })
    expect(payload.gateway.memory.rss_bytes).to.be.above(1_000_000)
    expect(payload.instances.map((row: any) => [row.reason, row.diagnostics])).to.deep.equal([
      ['its heartbeat is fresh', { heartbeat_age_ms: 1200 }],
      ['ended', { heartbeat_age_ms: given.time.now() }],
    ])
  })

  it('shows a bounded number of instances and counts all', async () => {
    const given = gateway()
    for (let n = 0; n < 1003; n++) given.directory.put(entry())
    const payload = await json(given, 'gateway://diagnostics/process')
    expect(payload.instances).to.have.length(1000)
    expect(payload).to.deep.include({ capped: true })
    expect(payload.counts).to.include({ total: 1003, live: 1003 })
  })

  it('shows the current calls and subscriptions of the endpoint', async () => {
    const given = gateway()
    const uri = 'gateway://diagnostics/audit'
    expect((await json(given, uri)).summary).to.deep.include({
      pending_calls: 3,
      sessions: 2,
      open_streams: 1,
      resource_subscriptions: 5,
    })
    given.activity.pendingCalls = 0
    expect((await json(given, uri)).summary).to.include({ pending_calls: 0 })
  })

  it('shows the configured timeouts', async () => {
    const given = gateway({ sessionIdleMs: 99 })
    const { metrics } = await json(given, 'gateway://diagnostics/metrics')
    expect(metrics).to.include({
      backend_timeout_ms: 5000,
      stale_after_ms: 30_000,
      dead_shown_ms: 600_000,
      session_idle_ms: 99,
      mcp_surface: 'resources',
    })
  })
})

describe('completion at a gateway', () => {
  const given = gateway()
  given.directory.put(
    entry({ instanceId: id, dccType: 'maya' }, { health: 'dead' }),
    entry({ instanceId: 'a1b2eeee-0000-4000-8000-000000000003', dccType: 'blender' }),
    entry({ instanceId: other, dccType: 'maya' }),
  )
  given.catalog.set({ name: 'rig', description: 'd' }, { name: 'Rope', description: 'd' })
  const list = given.resources.templates()[0]?.uriTemplate ?? ''
  const one = 'gateway://instances/{instance_id}'
  const cases: [ref: string, variable: string, prefix: string, values: string[]][] = [
    [one, 'instance_id', 'A1-B2', ['a1b2eeee-0000-4000-8000-000000000003', id]],
    [one, 'instance_id', 'zz', []],
    [list, 'dcc_type', '', ['blender', 'maya']],
    [list, 'dcc_type', 'M', ['maya']],
    [list, 'status', 's', ['stale']],
    [list, 'verbose', 'f', ['false']],
    [list, 'query', '', []],
    [list, 'limit', '1', []],
    ['gateway://catalog/{name}', 'name', 'r', ['rig', 'Rope']],
  ]
  for (const [ref, variable, prefix, values] of cases) {
    it(`completes "${prefix}" of ${variable} in ${ref.slice(0, 40)}`, async () => {
      expect((await given.resources.complete(ref, variable, prefix)).values).to.deep.equal(values)
    })
  }

  it('has a template for everything that is read and not listed, and a title for all', async () => {
    const templates = given.resources.templates()
    expect(templates.map(({ uriTemplate }) => uriTemplate.replace(/\{\?.*/, ''))).to.deep.equal([
      'gateway://instances',
      'gateway://instances/{instance_id}',
      'gateway://diagnostics/process',
      'gateway://catalog',
      'gateway://catalog/{name}',
      'resources://gateway/events',
    ])
    const { descriptors } = await given.resources.page(undefined)
    for (const { title, name } of [...descriptors, ...templates]) {
      expect(title, name).to.be.a('string').and.not.equal('')
    }
  })
})
