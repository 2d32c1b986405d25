import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { parseInstanceQuery, queryInstances } from '../../../src/server/gateway/instance-query.ts'
import { instanceRow, type InstanceRow } from '../../../src/server/gateway/instance-rows.ts'
import { parseResourceUri } from '../../../src/server/resources/resource-uri.ts'
import { entry } from '../../helpers/memory-directory.ts'

function parsed(query: string): ReturnType<typeof parseInstanceQuery> {
  const uri = parseResourceUri(`gateway://instances${query}`)
  if (!uri.ok) throw new Error(uri.failure)
  return parseInstanceQuery(uri.value)
}

const row = (...given: Parameters<typeof entry>): InstanceRow => instanceRow(entry(...given))

const usual = {
  includeStale: true,
  includeDead: false,
  dccType: undefined,
  text: undefined,
  limit: 1000,
  offset: 0,
}

describe('parseInstanceQuery', () => {
  const cases: [query: string, expected: Partial<ReturnType<typeof parseInstanceQuery>>][] = [
    ['', {}],
    ['?unknown=1&view=all&OFFSET=7', {}],
    ['?include_stale=False', { includeStale: false }],
    ['?include_dead', { includeDead: true }],
    ['?include_dead=1', { includeDead: true }],
    ['?dcc_type=Maya', { dccType: 'Maya' }],
    ['?query=%20shot%2010%20', { text: 'shot 10' }],
    // Once, not twice: this is a percent sign and two digits.
    ['?query=%2541', { text: '%41' }],
    ['?limit=-3', { limit: 1 }],
    ['?limit=99999', {}],
    ['?limit=5&offset=10', { limit: 5, offset: 10 }],
  ]
  for (const [query, expected] of cases) {
    it(`reads "${query}"`, () => {
      expect(parsed(query)).to.deep.equal({ ...usual, ...expected })
    })
  }

  const wrong: [query: string, name: string][] = [
    ['?include_stale=maybe', 'include_stale'],
    ['?offset=-1', 'offset'],
    ['?offset=9007199254740993', 'offset'],
  ]
  for (const [query, name] of wrong) {
    it(`refuses "${query}", naming the parameter`, () => {
      expect(() => parsed(query))
        .to.throw(ServiceError, `"${name}"`)
        .with.property('code', 'resource_uri_invalid')
    })
  }
})

describe('queryInstances', () => {
  const rows = [
    row({ instanceId: 'aaaaaaaa-0000-4000-8000-000000000001', dccType: 'blender' }),
    row({
      instanceId: 'bbbbbbbb-0000-4000-8000-000000000002',
      dccType: 'maya',
      scene: '/s/Hero.ma',
    }),
    row(
      { instanceId: 'cccccccc-0000-4000-8000-000000000003', dccType: 'Maya' },
      { health: 'stale' },
    ),
    row({ instanceId: 'dddddddd-0000-4000-8000-000000000004' }, { health: 'dead' }),
    row({ instanceId: 'eeeeeeee-0000-4000-8000-000000000005', status: 'busy', scene: null }),
    row(
      { instanceId: 'ffffffff-0000-4000-8000-000000000006', displayName: 'Farm 6' },
      { health: 'unhealthy' },
    ),
  ]
  const shown = (query: string) =>
    queryInstances(rows, [], parsed(query))
      .instances.map(each => each.instance_short[0])
      .join('')

  const cases: [query: string, expected: string][] = [
    ['', 'abcef'],
    ['?include_dead', 'abcdef'],
    ['?include_stale=false&include_dead=true', 'abdef'],
    ['?dcc_type=MAYA&include_stale=0', 'b'],
    ['?query=hero', 'b'],
    ['?query=farm%206', 'f'],
    ['?query=blender@4.2', 'aef'],
    ['?query=CCCCCCCC', 'c'],
    ['?query=nothing', ''],
    ['?limit=2&offset=2', 'ce'],
  ]
  for (const [query, expected] of cases) {
    it(`shows "${expected}" for "${query}"`, () => expect(shown(query)).to.equal(expected))
  }

  const cuts: [query: string, capped: boolean][] = [
    ['?limit=5', false],
    ['?limit=4', true],
    ['?limit=2&offset=2', true],
    ['?limit=3&offset=2', false],
    ['?offset=500', false],
  ]
  for (const [query, capped] of cuts) {
    it(`${capped ? 'says' : 'does not say'} that rows were cut for "${query}"`, () => {
      const answer = queryInstances(rows, [], parsed(query))
      expect(answer).to.include({ capped, total: 5 })
    })
  }

  it('counts the stale and the dead of what is asked for, shown or not', () => {
    const answer = queryInstances(rows, [], parsed('?include_stale=false&limit=1'))
    expect(answer).to.include({ stale_count: 1, dead_count: 1, limit: 1, offset: 0 })
    const maya = queryInstances(rows, [], parsed('?dcc_type=maya'))
    expect(maya).to.include({ stale_count: 1, dead_count: 0 })
  })

  it('counts the records that are not understood', () => {
    const fault = { source: 'x.json', reason: 'no JSON' }
    expect(queryInstances(rows, [fault], parsed(''))).to.include({ fault_count: 1, total: 5 })
  })
})
