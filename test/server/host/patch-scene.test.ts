import { expect } from 'chai'
import { Harness, json } from './harness.ts'

describe('PATCH /host/v1/scene', () => {
  let host: Harness
  beforeEach(async () => (host = await Harness.start()))
  afterEach(() => host.stop())

  const scene = { frame: 1, objects: [{ id: 'Cube', x: 0 }, { id: 'Lamp' }] }
  const post = () => host.post('/host/v1/scene', JSON.stringify(scene))
  const patch = (body: unknown) => host.send('PATCH', '/host/v1/scene', json, JSON.stringify(body))
  const current = () => JSON.parse(host.sink.scene.current.text ?? 'null')

  it('changes the scene, and returns the revision', async () => {
    await post()
    const objects = [{ id: 'Cube', x: 1 }]
    const answer = await patch({ objects, removed: ['Lamp'], members: { frame: 2 } })
    expect([answer.status, answer.body]).to.deep.equal([200, { ok: true, revision: 2 }])
    expect(current()).to.deep.equal({ frame: 2, objects })
    expect((await patch({ base: 2, unset: ['frame'] })).body).to.include({ revision: 3 })
    expect(current()).to.deep.equal({ objects })
  })

  it('returns 409 on another revision, without a scene, and while an application holds it', async () => {
    expect((await patch({ unset: ['a'] })).body).to.include({ code: 'scene-stale', status: 409 })
    await post()
    expect((await patch({ base: 7, unset: ['a'] })).body).to.include({ code: 'scene-stale' })
    host.sink.scene.tell({ instanceId: 'run-1', dccType: 'blender', connected: true })
    host.sink.setSceneText(JSON.stringify(scene), 'run-1')
    expect((await patch({ unset: ['frame'] })).body).to.include({ code: 'scene-live' })
    host.sink.scene.tell({ instanceId: 'run-1', dccType: 'blender', connected: false })
    expect((await patch({ unset: ['frame'] })).body).to.include({ code: 'scene-stale' })
    expect(current()).to.deep.equal(scene)
  })

  it('keeps a member __proto__, which changes no prototype', async () => {
    await post()
    const body = '{"members":{"__proto__":{"polluted":1.0}}}'
    const answer = await host.send('PATCH', '/host/v1/scene', json, body)
    expect(answer.status).to.equal(200)
    expect(host.sink.scene.current.text).to.contain('"__proto__":{"polluted":1.0}')
    expect(({} as { polluted?: number }).polluted).to.equal(undefined)
  })

  it('returns 400 to what is no patch, and names the member', async () => {
    await post()
    const wrong: [body: unknown, detail: string][] = [
      [[], 'must be an object'],
      [
        { objects: [{ id: '' }] },
        '/objects/0 must be an object with an "id" of 1 to 255 characters',
      ],
      [{ objects: [] }, 'has none of objects, removed, members and unset'],
      [{ objcets: [{ id: 'a' }] }, '/objcets is not known here'],
      [{ unset: ['a'], more: true }, '/more is not known here'],
      [{ base: 'x', unset: ['a'] }, '/base must be a whole number from 0 to 9007199254740991'],
    ]
    for (const [body, detail] of wrong) {
      const answer = await patch(body)
      expect(answer.status).to.equal(400)
      expect(answer.body).to.include({ detail })
    }
    await host.post('/host/v1/scene', '{"objects":[{}]}')
    expect((await patch({ unset: ['a'] })).text).to.contain('their own text id')
  })
})
