import { expect } from 'chai'
import { instanceRow, rowStatus } from '../../../src/server/gateway/instance-rows.ts'
import { entry } from '../../helpers/memory-directory.ts'

const instanceId = 'a1b2c3d4-0000-4000-8000-000000000001'

describe('instanceRow', () => {
  it('says what the instance is, in which state, and how to reach it', () => {
    expect(instanceRow(entry({ instanceId, metadata: { shot: '010' } }))).to.deep.equal({
      instance_id: instanceId,
      instance_short: 'a1b2c3d4',
      display_id: 'blender@4.2.0-a1b2c3d4',
      display_name: 'Blender on desk',
      dcc_type: 'blender',
      version: '4.2.0',
      host_pid: 4712,
      application: { connected: true, since: null },
      mcp_url: 'http://127.0.0.1:8765/mcp',
      origin: 'local',
      joined: undefined,
      status: 'available',
      health: 'live',
      reason: 'its heartbeat is fresh',
      scene: '/shots/010/layout.blend',
      scene_set_at: null,
      metadata: { shot: '010' },
      pid: 4711,
      hostname: 'desk',
      server_version: '0.1.0',
      started_at: '2026-01-02T03:04:05.678Z',
      host_mode: 'gui',
    })
  })

  it('says unknown in the id and null elsewhere as long as no application is connected', () => {
    const host = { connected: false, appPid: null, version: null, mode: null, sinceMs: undefined }
    expect(instanceRow(entry({ instanceId, host, scene: null }))).to.deep.include({
      display_id: 'blender@unknown-a1b2c3d4',
      version: null,
      host_pid: null,
      scene: null,
    })
  })

  it('says since when an application is gone, and when a scene was set without one', () => {
    const host = { connected: false, appPid: null, version: null, mode: null, sinceMs: 0 }
    const row = instanceRow(entry({ instanceId, host, sceneSetMs: 0 }))
    const since = '1970-01-01T00:00:00.000Z'
    expect(row.application).to.deep.equal({ connected: false, since })
    expect(row.scene_set_at).to.equal(since)
  })

  it('never has the address nor the token file of the host link', () => {
    const record = { host_url: 'ws://127.0.0.1/host', host_token_file: '/secret.token' }
    const text = JSON.stringify(instanceRow(entry(record as object)))
    expect(text).not.to.match(/host_url|hostUrl|token|secret|\/host/)
  })
})

describe('rowStatus', () => {
  const cases: [health: 'live' | 'stale' | 'unhealthy' | 'dead', said: any, expected: string][] = [
    ['live', 'available', 'available'],
    ['live', 'busy', 'busy'],
    ['stale', 'available', 'stale'],
    ['unhealthy', 'available', 'unreachable'],
    ['dead', 'available', 'dead'],
  ]
  for (const [health, said, expected] of cases) {
    it(`is ${expected} for one that is ${health} and says ${said}`, () => {
      const given = entry({ status: said }, { health })
      expect(rowStatus(given)).to.equal(expected)
      expect(instanceRow(given).status).to.equal(expected)
    })
  }
})
