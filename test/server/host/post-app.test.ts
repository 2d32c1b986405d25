import { expect } from 'chai'
import { presencePatch } from '../../../src/server/host/link/presence.ts'
import { Harness, smallBounds } from './harness.ts'

const given = { dccType: 'unknown', named: false, hostname: 'rig' }

describe('POST /host/v1/app', () => {
  let host: Harness
  beforeEach(async () => (host = await Harness.start(smallBounds)))
  afterEach(() => host.stop())

  const post = (body: unknown) => host.post('/host/v1/app', JSON.stringify(body))

  it('says what is open, and in which kind of application', async () => {
    const document = { path: '/shots/010.hip', name: '010.hip', modified: true }
    expect((await post({ document, dcc_type: 'houdini' })).body).to.deep.equal({ ok: true })
    expect((await post({ document: null })).status).to.equal(200)
    const [first, second] = host.presences.map(presence => presencePatch(presence, given))
    expect(first).to.deep.include({ scene: '/shots/010.hip', dcc_type: 'houdini' })
    expect(first).to.have.property('display_name', 'houdini on rig')
    expect(second).to.deep.include({ scene: null, dcc_type: 'unknown' })
    expect(host.presences.every(({ connected }) => !connected)).to.equal(true)
  })

  it('returns 409 while an application is connected', async () => {
    const app = { instanceId: 'run-1', dccType: 'blender' }
    host.sink.scene.tell({ ...app, connected: true })
    const refused = await post({ document: null })
    expect(refused.status).to.equal(409)
    expect(refused.body.code).to.equal('scene-live')
    host.sink.scene.tell({ ...app, connected: false })
    expect((await post({ document: null })).status).to.equal(200)
    expect(host.presences).to.have.length(1)
  })

  const wrong: [body: unknown, pointer: string][] = [
    [{}, '/document'],
    [[], ''],
    [{ document: '/shots/010.hip' }, '/document'],
    [{ document: { path: 5 } }, '/document/path'],
    [{ document: { path: 'x'.repeat(4097) } }, '/document/path'],
    [{ document: { file: '/a' } }, '/document/file'],
    [{ document: null, dcc_type: 'Maya 2026' }, '/dcc_type'],
    [{ document: null, dcc_type: 'x'.repeat(65) }, '/dcc_type'],
    [{ document: null, pid: 1 }, '/pid'],
  ]
  for (const [body, pointer] of wrong) {
    it(`returns 400 for ${JSON.stringify(body).slice(0, 60)}, and keeps what was said`, async () => {
      const answer = await post(body)
      expect(answer.status).to.equal(400)
      expect(answer.body.errors?.[0]?.pointer).to.equal(pointer)
      expect(host.presences).to.deep.equal([])
    })
  }
})
