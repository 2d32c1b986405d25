import { expect } from 'chai'
import { changeLine, emptyText, instanceTable } from '../../../src/commands/instances/lines.ts'
import type { InstanceRow } from '../../../src/server/gateway/instance-rows.ts'

const row = {
  instance_short: '38e471f8',
  dcc_type: 'blender',
  version: '4.2.0',
  display_name: 'Blender on desk',
  status: 'available',
  health: 'live',
  reason: 'its process runs',
  scene: '/shots/a.blend',
  scene_set_at: null,
  application: { connected: true, since: null },
  mcp_url: 'http://127.0.0.1:8765/mcp',
} as InstanceRow

const since = '2026-03-04T05:06:07.250Z'
const gone = { ...row, version: null, application: { connected: false, since } }

describe('instanceTable', () => {
  const stale: InstanceRow = { ...row, health: 'stale', status: 'stale', reason: 'no heartbeat' }

  it('says why something is not well, and not why it is', () => {
    const [head, first, , trouble] = instanceTable([row, stale]).split('\n')
    expect(head).to.match(/^ID +APPLICATION +NAME +STATE +SCENE +URL$/)
    expect(first).to.contain('blender 4.2.0').and.not.contain('its process runs')
    expect(trouble).to.equal('38e471f8  stale: no heartbeat')
  })

  it('says that the application of a live instance is gone', () => {
    const [, first, trouble] = instanceTable([gone]).split('\n')
    expect(first)
      .to.contain('  disconnected  ')
      .and.not.match(/available|live/)
    expect(trouble).to.equal(`38e471f8  disconnected: application gone since ${since}`)
  })

  it('fits 80 columns and keeps the id and the address', () => {
    const scene = `/projects/${'a'.repeat(80)}/shot.blend`
    const lines = instanceTable([{ ...row, scene }, stale], 80).split('\n')
    for (const line of lines) expect(line.length).to.be.at.most(80)
    expect(lines[1]).to.contain('38e471f8').and.contain('http://127.0.0.1:8765/mcp')
  })

  it('says when a scene without a document was set', () => {
    const set = { ...row, scene: null, scene_set_at: since }
    expect(instanceTable([set])).to.match(/ {2}set .* ago {2}http/)
    expect(changeLine('changed', set)).to.match(/ {2}set .* ago {2}http/)
    expect(instanceTable([{ ...row, scene_set_at: since }])).to.contain('/shots/a.blend')
  })

  it('is safe on a terminal, whoever wrote the record', () => {
    const hostile = { ...row, display_name: '\u001b[2Jx\n', scene: '/a\u001b]0;t\u0007\nb' }
    const text = instanceTable([hostile]) + changeLine('changed', hostile)
    expect(text).not.to.match(/[\u0000-\u0009\u000b-\u001f]/)
    expect(text.split('\n')).to.have.length(2)
  })
})

describe('emptyText', () => {
  it('says what to do, and tells of those that ended', () => {
    const text = emptyText('/tmp/r', 0, false)
    expect(text).to.contain('/tmp/r').and.contain('service-cli serve').and.contain('doctor')
    expect(text).not.to.contain('--all')
    expect(emptyText('/tmp/r', 2, false)).to.contain('2 instances ended; --all')
    const filtered = emptyText('/tmp/r', 1, true)
    expect(filtered).to.equal('No instance matches. 1 instance ended; --all shows them.')
  })
})
