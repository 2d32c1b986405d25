import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { entry } from '../../helpers/instances.ts'
import { gateway, id, json, other, eventsOf, textOf } from './gateway-harness.ts'
import { failureOf } from '../../helpers/failure.ts'

describe('resources of a gateway', () => {
  const unknown = [
    'gateway://other',
    'gateway://instances/',
    'gateway://instances/xyz',
    'gateway://instances/a1b2/scene',
    'gateway://instances/a1b',
    `gateway://instances/${id}0`,
    'gateway://instances/__proto__',
    'gateway://catalog/none',
    'gateway://catalog/a/b',
    'gateway:instances',
    'resources://gateway/',
    'scene://current',
  ]
  it('throw resource_not_found for what there is not, and say the number of digits needed', async () => {
    const given = gateway()
    given.directory.put(entry({ instance_id: id }))
    for (const uri of unknown) {
      const error = await failureOf(() => given.resources.read(uri))
      expect(error.code, uri).to.equal('resource_not_found')
      expect(error.data).to.deep.equal({ uri })
      if (uri.endsWith('/a1b')) expect(error.message).to.include('at least 4')
    }
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
})

describe('gateway://diagnostics/process', () => {
  it('shows since when it runs, and invalid records', async () => {
    const given = gateway()
    given.directory.fault({ source: 'x.json', reason: 'no JSON' })
    const payload = await json(given, 'gateway://diagnostics/process')
    expect(payload).to.deep.include({ faults: [{ source: 'x.json', reason: 'no JSON' }] })
    expect(Date.parse(payload.gateway.started_at)).to.be.closeTo(performance.timeOrigin, 1)
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
  it('completes ids, dead ones too, and nothing else', async () => {
    for (const [ref, variable, prefix, values] of cases) {
      const found = await given.resources.complete(ref, variable, prefix)
      expect(found.values, `${variable} ${prefix}`).to.deep.equal(values)
    }
  })

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

const uri = 'resources://gateway/events'

describe('resources://gateway/events', () => {
  it('keeps the last 1000, and gives the newest when asked for fewer', async () => {
    const given = gateway()
    for (let n = 1; n <= 1003; n++) {
      given.ring.record({ event: 'port_taken', instanceId: 'gateway', reason: String(n) })
    }
    const events = await eventsOf(given)
    expect(events[0]).to.include({ dcc_type: '__gateway__', instance_id: 'gateway' })
    const reasons = events.map(({ reason }) => reason)
    expect([reasons.length, reasons[0], reasons.at(-1)]).to.deep.equal([1000, '4', '1003'])
    const newest = await textOf(given, `${uri}?limit=2`)
    expect(newest.match(/"reason":"\d+"/g)).to.deep.equal(['"reason":"1002"', '"reason":"1003"'])
  })

  it('keeps hostile texts on their line, cleaned and cut', async () => {
    const given = gateway()
    const evil = `a\n{"event":"election_won"}\u001b[2J\u202e${'x'.repeat(300)}`
    given.ring.record({ event: 'port_taken', dccType: evil, instanceId: evil, reason: evil })
    const [only, ...others] = await eventsOf(given)
    expect(others).to.deep.equal([])
    for (const name of ['dcc_type', 'instance_id', 'reason']) {
      expect(only[name])
        .to.match(/^a \{"event":"election_won"\} x+…$/)
        .and.have.length(255)
    }
  })
})
