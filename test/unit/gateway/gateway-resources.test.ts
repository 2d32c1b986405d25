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
      given.directory.put(entry({ instance_id: id }))
      const error = await failureOf(() => given.resources.read(uri))
      expect(error.code).to.equal('resource_not_found')
      expect(error.data).to.deep.equal({ uri })
    })
  }

  it('return the identical list until an instance changes', async () => {
    const given = gateway()
    given.directory.put(entry({ instance_id: id }))
    const list = () => given.resources.read('gateway://instances')
    const first = await list()
    expect(await list()).to.equal(first)
    given.directory.judge(id, 'stale', 'silent')
    expect(await list()).not.to.equal(first)
  })

  const selectors: [selector: string, found: string | null][] = [
    [id.toUpperCase(), id],
    [id.replaceAll('-', ''), id],
    ['FFFF-0', other],
    [`${id}0`, null],
    ['0123', null],
    ['__proto__', null],
  ]
  for (const [selector, found] of selectors) {
    it(`find ${found} by "${selector}", dead ones too`, async () => {
      const given = gateway()
      given.directory.put(
        entry({ instance_id: id }),
        entry({ instance_id: other }, { health: 'dead' }),
      )
      const row = json(given, `gateway://instances/${selector}`)
      const idFound = await row.then(
        ({ instance_id }) => instance_id,
        () => null,
      )
      expect(idFound).to.equal(found)
    })
  }

  it('find nothing by a prefix that is too short, and say the number of digits needed', async () => {
    const given = gateway()
    given.directory.put(entry({ instance_id: id }))
    const error = await failureOf(() => given.resources.read('gateway://instances/a1b'))
    expect(error).to.include({ code: 'resource_not_found' })
    expect(error.message).to.include('at least 4')
    expect(error.data).to.deep.equal({ uri: 'gateway://instances/a1b' })
  })

  it('list a bounded number of candidates, dead ones too', async () => {
    const given = gateway()
    for (let n = 0; n < 25; n++) {
      const instanceId = `abcd00${String(n).padStart(2, '0')}-0000-4000-8000-000000000000`
      given.directory.put(entry({ instance_id: instanceId }, { health: n === 1 ? 'dead' : 'live' }))
    }
    const { code, data } = await failureOf(() => given.resources.read('gateway://instances/abcd'))
    expect(code).to.equal('resource_uri_invalid')
    const candidates = data?.candidates as string[]
    expect(candidates[1]).to.equal('abcd0001-0000-4000-8000-000000000000')
    expect(candidates).to.have.length(20)
  })

  it('refuse an invalid parameter, at a read and at a subscription', async () => {
    const { resources } = gateway()
    for (const uri of [
      'gateway://instances?include_dead=x',
      'resources://gateway/events?limit=x',
    ]) {
      const code = 'resource_uri_invalid'
      expect(await failureOf(() => resources.read(uri)), uri).to.include({ code })
      expect(() => resources.assertSubscribable(uri), uri)
        .to.throw(ServiceError)
        .with.property('code', code)
    }
  })

  it('have the catalog, or what fits a query, and the problem of its file', async () => {
    const given = gateway()
    const all = await json(given, 'gateway://catalog')
    expect(all).to.include({ total: 2, problem: null })
    const found = await json(given, 'gateway://catalog?query=houdini')
    expect(found).to.include({ total: 1 })
    expect(found.entries[0]).to.include({ name: 'service-cli-python' })
  })
})

describe('gateway://diagnostics', () => {
  it('shows the process, counts by health, and invalid records', async () => {
    const given = gateway()
    given.directory.put(
      entry({ instance_id: id, dcc_type: 'maya' }),
      entry({ instance_id: other }, { health: 'dead', reason: 'ended' }),
    )
    given.directory.fault({ source: 'x.json', reason: 'no JSON' })
    const payload = await json(given, 'gateway://diagnostics/process')
    expect(payload).to.deep.include({
      counts: { total: 2, live: 1, stale: 0, unhealthy: 0, dead: 1 },
      faults: [{ source: 'x.json', reason: 'no JSON' }],
    })
    expect(Date.parse(payload.gateway.started_at)).to.be.closeTo(performance.timeOrigin, 1)
    const { counts } = await json(given, 'gateway://diagnostics/process?dcc_type=MAYA')
    expect(counts).to.include({ total: 1, dead: 0 })
  })

  it('shows the current calls and subscriptions of the endpoint', async () => {
    const given = gateway()
    const uri = 'gateway://diagnostics/audit'
    expect((await json(given, uri)).summary).to.deep.include({
      pending_calls: 3,
      resource_subscriptions: 5,
    })
    given.activity.pendingCalls = 0
    expect((await json(given, uri)).summary).to.include({ pending_calls: 0 })
  })

  it('shows the times after which an instance is stale, and its row is gone', async () => {
    const { metrics } = await json(gateway(), 'gateway://diagnostics/metrics')
    expect(metrics).to.include({
      backend_timeout_ms: 5000,
      stale_after_ms: 30_000,
      dead_shown_ms: 660_000,
      publishes_backend_tools: false,
    })
  })
})

describe('completion at a gateway', () => {
  const given = gateway()
  given.directory.put(
    entry({ instance_id: id, dcc_type: 'maya' }, { health: 'dead' }),
    entry({ instance_id: 'a1b2eeee-0000-4000-8000-000000000003', dcc_type: 'blender' }),
    entry({ instance_id: other, dcc_type: 'maya' }),
  )
  const list = given.resources.templates()[0]?.uriTemplate ?? ''
  const one = 'gateway://instances/{instance_id}'
  const cases: [ref: string, variable: string, prefix: string, values: string[]][] = [
    [one, 'instance_id', 'A1-B2', [id, 'a1b2eeee-0000-4000-8000-000000000003']],
    [one, 'instance_id', 'zz', []],
    [list, 'query', '', []],
    [list, 'limit', '1', []],
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
