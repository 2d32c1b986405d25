import { expect } from 'chai'
import { until } from '../helpers/until.ts'
import { useLinkedApps } from './linked-app.ts'
import type { PythonApp } from './python-driver.ts'
import { type Peer, type Script, ScriptedServer, welcome } from './scripted-server.ts'

const note = 'x'.repeat(2000)
const scene = {
  note,
  frame: 1,
  objects: [
    { id: 'Cube', x: 0 },
    { id: 'Lamp', x: 0 },
  ],
}

describe('the Python link: scenes that change', () => {
  let server: ScriptedServer
  let app: PythonApp
  let peer: Peer

  const { link } = useLinkedApps()

  /** Up to the first scene, which the server took as revision 7. */
  async function begin(script: Script = {}): Promise<void> {
    const patching = { ...welcome, scene_patch: true }
    const connected = (each: Peer) => each.answers.delete('scene.set')
    ;({ server, app } = await link({ welcome: patching, connected, ...script }))
    peer = await server.peer()
    await app.call('set_scene', scene)
    peer.ok(await peer.nth('scene.set'), { revision: 7 })
    await until(() => app.get('scene_settled'), 'scene settled')
  }

  async function patchOf(next: object): Promise<object> {
    const count = peer.of('scene.patch').length
    await app.call('set_scene', next)
    const { type: _, id: __, ...members } = await peer.nth('scene.patch', count + 1)
    return members
  }

  it('sends what changed since the scene that the server has', async () => {
    await begin()
    const [cube, lamp] = scene.objects
    const objects = [lamp, { ...cube, x: 1 }, { id: 'Rig' }]
    const next = { note, selection: ['Rig'], objects: [{ ...cube, x: 1 }, { id: 'Rig' }] }
    expect(await patchOf(next)).to.deep.equal({
      base: 7,
      objects: [{ id: 'Cube', x: 1 }, { id: 'Rig' }],
      removed: ['Lamp'],
      members: { selection: ['Rig'] },
      unset: ['frame'],
    })
    peer.ok(await peer.nth('scene.patch'), { revision: 8 })
    await until(() => app.get('scene_settled'), 'scene settled')
    expect(await patchOf({ ...next, frame: 2 })).to.deep.include({ base: 8, members: { frame: 2 } })
    peer.ok(await peer.nth('scene.patch', 2), { revision: 9 })
    await until(() => app.get('scene_settled'), 'scene settled')
    // Another order is no change that a patch can say.
    await app.call('set_scene', { note, objects })
    expect((await peer.nth('scene.set', 2)).scene).to.deep.equal({ note, objects })
  })

  it('sends the whole scene when the server has another one', async () => {
    await begin()
    await patchOf({ ...scene, frame: 2 })
    const { id } = await peer.nth('scene.patch')
    peer.send({ type: 'error', id, code: 'stale', message: 'another scene', retryable: false })
    expect(await peer.nth('scene.set', 2)).to.deep.include({ scene: { ...scene, frame: 2 } })
    peer.ok(await peer.nth('scene.set', 2), { revision: 20 })
    await until(() => app.get('scene_settled'), 'scene settled')
    expect(await patchOf({ ...scene, frame: 3 })).to.include({ base: 20 })
  })

  it('sends the whole scene on a new connection, and to a server that takes no patches', async () => {
    await begin()
    peer.socket.destroy()
    peer = await server.peer(2)
    await app.call('set_scene', { ...scene, frame: 2 })
    expect(await peer.nth('scene.set')).to.deep.include({ scene: { ...scene, frame: 2 } })
    server.script = { welcome }
    peer.socket.destroy()
    peer = await server.peer(3)
    await peer.nth('scene.set')
    await app.call('set_scene', { ...scene, frame: 3 })
    await peer.nth('scene.set', 2)
    expect(peer.of('scene.patch')).to.deep.equal([])
  })

  it('sends what an application says has changed', async () => {
    await begin()
    const object = (id: string) => JSON.stringify({ id, note: 'x'.repeat(1000) })
    const objects = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map(id => [id, object(id)]))
    await app.call('patch_scene', { frame: 2 }, objects, true)
    const set: any = await peer.nth('scene.set', 2)
    expect(set.scene).to.deep.equal({
      frame: 2,
      objects: Object.values(objects).map(text => JSON.parse(text)),
    })
    // Meanwhile two more: they are one patch.
    await app.call('patch_scene', { frame: 3 }, { a: null })
    await app.call('patch_scene', { frame: null }, { f: '{"id":"f"}' })
    peer.ok(set, { revision: 9 })
    const { type: _, id: __, ...patch } = await peer.nth('scene.patch')
    expect(patch).to.deep.equal({
      base: 9,
      objects: [{ id: 'f' }],
      removed: ['a'],
      members: {},
      unset: ['frame'],
    })
  })

  it('sends whole scenes while there are more objects than the server patches', async () => {
    const limits = { ...(welcome as any).limits, max_patched_objects: 1 }
    await begin({ welcome: { ...welcome, scene_patch: true, limits } })
    await app.call('set_scene', { ...scene, frame: 2 })
    expect(await peer.nth('scene.set', 2)).to.deep.include({ scene: { ...scene, frame: 2 } })
    expect(peer.of('scene.patch')).to.deep.equal([])
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

  it('sends whole scenes where most changes, or objects have no ids of their own', async () => {
    await begin()
    await app.call('set_scene', { ...scene, note: 'y'.repeat(2000) })
    peer.ok(await peer.nth('scene.set', 2), { revision: 8 })
    await until(() => app.get('scene_settled'), 'scene settled')
    await app.call('set_scene', { ...scene, objects: [{ id: 'Cube' }, { id: 'Cube' }] })
    peer.ok(await peer.nth('scene.set', 3), { revision: 9 })
    await until(() => app.get('scene_settled'), 'scene settled')
    await app.call('set_scene', { ...scene, objects: [{ id: 1 }] })
    await peer.nth('scene.set', 4)
  })
})
