import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import {
  instanceRow,
  listInstances,
  parseInstanceQuery,
} from '../../../src/server/gateway/instance-rows.ts'
import { parseResourceUri } from '../../../src/server/resources/resource-uri.ts'
import { entry } from '../../helpers/instances.ts'

const instanceId = 'a1b2c3d4-0000-4000-8000-000000000001'

describe('instanceRow', () => {
  it('says what the instance is, in which state, and how to reach it', () => {
    expect(
      instanceRow(entry({ instance_id: instanceId, metadata: { shot: '010' } })),
    ).to.deep.equal({
      instance_id: instanceId,
      instance_short: 'a1b2c3d4',
      display_name: 'Blender on desk',
      dcc_type: 'blender',
      version: '4.2.0',
      host_pid: 4712,
      application: { connected: true, since: null },
      mcp_url: 'http://127.0.0.1:8765/mcp',
      joined: undefined,
      status: 'available',
      health: 'live',
      reason: 'its heartbeat is fresh',
      scene: '/shots/010/layout.blend',
      scene_set_at: null,
      metadata: { shot: '010' },
      pid: 4711,
      hostname: 'desk',
      started_at: '2026-01-02T03:04:05.678Z',
    })
  })

  it('says since when an application is gone, and when a scene was set without one', () => {
    const since = '1970-01-01T00:00:00.000Z'
    const host = { connected: false, app_pid: null, version: null, mode: null, since }
    const row = instanceRow(entry({ instance_id: instanceId, host, scene_set_at: since }))
    expect(row.application).to.deep.equal({ connected: false, since })
    expect(row.scene_set_at).to.equal(since)
  })

  it('never has the address nor the token file of the host link', () => {
    const record = { host_url: 'ws://127.0.0.1/host', host_token_file: '/secret.token' }
    const text = JSON.stringify(instanceRow(entry(record as object)))
    expect(text).not.to.match(/host_url|hostUrl|token|secret|\/host/)
  })
})

describe('the status of a row', () => {
  const cases: [health: 'live' | 'stale' | 'unhealthy' | 'dead', said: any, expected: string][] = [
    ['live', 'available', 'available'],
    ['live', 'busy', 'busy'],
    ['stale', 'available', 'stale'],
    ['unhealthy', 'available', 'unreachable'],
    ['dead', 'available', 'dead'],
  ]
  it('is what the instance says while it is live, else what its health says', () => {
    for (const [health, said, expected] of cases) {
      expect(instanceRow(entry({ status: said }, { health })).status).to.equal(expected)
    }
  })
})

function parsed(query: string): ReturnType<typeof parseInstanceQuery> {
  const uri = parseResourceUri(`gateway://instances${query}`)
  if (!uri.ok) throw new Error(uri.failure)
  return parseInstanceQuery(uri.value)
}

describe('parseInstanceQuery', () => {
  const usual = { includeStale: true, includeDead: false, dccType: undefined }
  const cases: [query: string, expected: Partial<ReturnType<typeof parseInstanceQuery>>][] = [
    ['', {}],
    ['?unknown=1&view=all&INCLUDE_DEAD=1', {}],
    ['?include_stale=False', { includeStale: false }],
    ['?include_dead', { includeDead: true }],
    ['?include_dead=1', { includeDead: true }],
    ['?dcc_type=%20Maya%20', { dccType: 'Maya' }],
    // Once, not twice: this is a percent sign and two digits.
    ['?dcc_type=%2541', { dccType: '%41' }],
  ]
  it('reads switches and a kind of application', () => {
    for (const [query, expected] of cases) {
      expect(parsed(query), query).to.deep.equal({ ...usual, ...expected })
    }
  })

  it('refuses an invalid value, naming the parameter', () => {
    expect(() => parsed('?include_stale=maybe'))
      .to.throw(ServiceError, '"include_stale"')
      .with.property('code', 'resource_uri_invalid')
  })
})

describe('listInstances', () => {
  const idOf = (letter: string) => `${letter.repeat(8)}-0000-4000-8000-000000000001`
  const entries = [
    entry({ instance_id: idOf('a'), dcc_type: 'blender' }),
    entry({ instance_id: idOf('b'), dcc_type: 'maya' }),
    entry({ instance_id: idOf('c'), dcc_type: 'Maya' }, { health: 'stale' }),
    entry({ instance_id: idOf('d') }, { health: 'dead' }),
    entry({ instance_id: idOf('e'), status: 'busy' }),
    entry({ instance_id: idOf('f') }, { health: 'unhealthy' }),
  ]
  const cases: [query: string, expected: string][] = [
    ['', 'abcef'],
    ['?include_dead', 'abcdef'],
    ['?include_stale=false&include_dead=true', 'abdef'],
    ['?dcc_type=MAYA&include_stale=0', 'b'],
    ['?dcc_type=houdini', ''],
  ]
  it('shows and counts those that the query is for', () => {
    for (const [query, expected] of cases) {
      const { total, instances } = listInstances(entries, parsed(query))
      expect(instances.map(each => each.instance_short[0]).join(''), query).to.equal(expected)
      expect(total).to.equal(expected.length)
    }
  })

  it('counts the dead of the kind that is asked for, shown or not', () => {
    const dead = (query: string) => listInstances(entries, parsed(query)).dead_count
    expect([dead(''), dead('?include_dead'), dead('?dcc_type=maya')]).to.deep.equal([1, 1, 0])
  })
})
