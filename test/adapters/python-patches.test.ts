import { expect } from 'chai'
import { until } from '../helpers/until.ts'
import { useLinkedApps } from './linked-app.ts'
import type { PythonApp } from './python-driver.ts'
import { type Peer, type Script, ScriptedServer, welcome } from './scripted-server.ts'

const object = (id: string) => JSON.stringify({ id, note: 'x'.repeat(1000) })
const objects = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map(id => [id, object(id)]))
const sceneOf = (members: object) => ({
  ...members,
  objects: Object.values(objects).map(text => JSON.parse(text)),
})

describe('the Python link: scenes that change', () => {
  let server: ScriptedServer
  let app: PythonApp
  let peer: Peer

  const { link } = useLinkedApps()

  /** Up to the first scene, which the server took as revision 7. */
  async function begin(script: Script = {}): Promise<void> {
    const connected = (each: Peer) => each.answers.delete('scene.set')
    ;({ server, app } = await link({ connected, ...script }))
    peer = await server.peer()
    await app.call('patch_scene', { frame: 1, mode: 'pose' }, objects, true)
    await taken(await peer.nth('scene.set'), 7)
  }

  async function taken(message: { type: string }, revision: number): Promise<void> {
    peer.ok(message, { revision })
    await until(() => app.get('scene_settled'), 'scene settled')
  }

  it('sends what an application says has changed, in one patch what came meanwhile', async () => {
    await begin()
    expect((await peer.nth('scene.set')).scene).to.deep.equal(sceneOf({ frame: 1, mode: 'pose' }))
    await app.call('patch_scene', { frame: 2 }, { a: '{"id":"a"}' })
    const first = await peer.nth('scene.patch')
    expect(first).to.deep.include({ base: 7, objects: [{ id: 'a' }], members: { frame: 2 } })
    await app.call('patch_scene', { frame: 3 }, { a: null })
    await app.call('patch_scene', { mode: null }, { f: '{"id":"f"}' })
    peer.ok(first, { revision: 9 })
    const { type: _, id: __, ...patch } = await peer.nth('scene.patch', 2)
    expect(patch).to.deep.equal({
      base: 9,
      objects: [{ id: 'f' }],
      removed: ['a'],
      members: { frame: 3 },
      unset: ['mode'],
    })
  })

  it('sends the whole scene when the server has another one', async () => {
    await begin()
    await app.call('patch_scene', { frame: 2 }, {})
    const { id } = await peer.nth('scene.patch')
    peer.send({ type: 'error', id, code: 'stale', message: 'another scene' })
    const whole = await peer.nth('scene.set', 2)
    expect(whole['scene']).to.deep.equal(sceneOf({ frame: 2, mode: 'pose' }))
    await taken(whole, 20)
    await app.call('patch_scene', { frame: 3 }, {})
    expect(await peer.nth('scene.patch', 2)).to.include({ base: 20 })
  })

  it('sends whole scenes while there are more objects than the server patches', async () => {
    await begin({ welcome: { ...welcome, limits: { ...welcome.limits, max_patched_objects: 1 } } })
    await app.call('patch_scene', { frame: 2 }, {})
    expect((await peer.nth('scene.set', 2)).scene).to.include({ frame: 2 })
  })

  it('asks for the whole scene when a patch may have closed the link', async () => {
    await begin()
    await app.call('patch_scene', { frame: 2 }, {})
    await peer.nth('scene.patch')
    peer.ws.close(4400)
    peer = await server.peer(2)
    await until(() => app.get('need_scene'), 'need_scene')
    await app.call('patch_scene', { frame: 3 }, {}, true)
    expect((await peer.nth('scene.set')).scene).to.deep.equal({ frame: 3, objects: [] })
    expect(await app.get('need_scene')).to.equal(false)
  })
})
