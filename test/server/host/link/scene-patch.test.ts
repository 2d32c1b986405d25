import { expect } from 'chai'
import { LinkServer, type Message, type Peer } from './link-server.ts'

const scene = { frame: 1, objects: [{ id: 'Cube', x: 0 }, { id: 'Lamp' }] }

describe('scene.patch', () => {
  let server: LinkServer
  let peer: Peer
  beforeEach(async () => {
    server = await LinkServer.start({
      limits: { maxPatchedObjects: 5, maxPatchedSceneBytes: 10_000 },
    })
    peer = await server.join()
  })
  afterEach(() => server.stop())

  const current = () => JSON.parse(server.sink.scene.current.text ?? 'null')
  const set = (value: unknown, more?: boolean): Promise<Message> =>
    peer.ask({ type: 'scene.set', scene: value, more })
  const patch = (members: object): Promise<Message> => peer.ask({ type: 'scene.patch', ...members })

  it('changes objects and members of the scene that it builds on', async () => {
    const { revision } = await set(scene)
    const first = await patch({
      base: revision,
      objects: [{ id: 'Cube', x: 1 }, { id: 'Rig' }],
      removed: ['Lamp'],
      members: { selection: null },
      unset: ['frame'],
    })
    expect(first).to.deep.equal({ type: 'ok', revision: 2 })
    const cube = { id: 'Cube', x: 1 }
    expect(current()).to.deep.equal({ objects: [cube, { id: 'Rig' }], selection: null })
    await patch({ base: 2, removed: ['Rig', 'unknown'] })
    expect(current().objects).to.deep.equal([cube])
  })

  it('takes a scene that came before it first, and one after it last', async () => {
    peer.send({ type: 'scene.set', scene })
    peer.send({ type: 'scene.patch', id: 'p', base: 1, members: { frame: 2 } })
    expect(await set({ last: true })).to.deep.equal({ type: 'ok', revision: 3 })
    expect(peer.received).to.deep.include({ type: 'ok', id: 'p', revision: 2 })
    expect(current()).to.deep.equal({ last: true })
  })

  it('is stale on another revision, without a scene, and on the scene of another source', async () => {
    const stale = { type: 'error', code: 'stale', retryable: false }
    expect(await patch({ base: 0, unset: ['a'] })).to.include(stale)
    await set(scene)
    await set(scene)
    expect(await patch({ base: 1, unset: ['frame'] })).to.include(stale)
    await set(null)
    expect(await patch({ base: 3, unset: ['frame'] })).to.include(stale)
    server.sink.scene.setText(JSON.stringify(scene))
    expect(await patch({ base: 4, unset: ['frame'] })).to.include(stale)
    expect(current()).to.deep.equal(scene)
  })

  it('is refused for what is wrong with it, and changes nothing', async () => {
    await set(scene)
    const wrong: [members: object, message: string][] = [
      [{ base: 1 }, 'has none of objects, removed, members and unset'],
      [{ base: -1, unset: ['a'] }, '/base must be a whole number from 0 to 9007199254740991'],
      [
        { base: 1, objects: [{}] },
        '/objects/0 must be an object with an "id" of 1 to 255 characters',
      ],
      [{ base: 1, unset: ['a'], more: true }, '/more cannot be combined with "base"'],
      [{ base: 1, unset: ['a'], x: 1 }, '/x is not known here'],
    ]
    for (const [members, message] of wrong) {
      expect(await patch(members)).to.include({ type: 'error', code: 'invalid', message })
    }
    expect(current()).to.deep.equal(scene)
    await set({ objects: [{ id: 1 }] })
    expect(await patch({ base: 2, unset: ['a'] })).to.include({ code: 'invalid' })
  })

  describe('of a scene in parts', () => {
    it('is read once all parts are there', async () => {
      await set({ old: true })
      expect(await set(scene, true)).to.deep.equal({ type: 'ok' })
      expect(await patch({ objects: [{ id: 'Rig' }], more: true })).to.deep.equal({ type: 'ok' })
      expect(current()).to.deep.equal({ old: true })
      const last = await patch({ objects: [{ id: 'Tree' }] })
      expect(last).to.deep.equal({ type: 'ok', revision: 2 })
      expect(current().objects.map((each: any) => each.id)).to.deep.equal([
        'Cube',
        'Lamp',
        'Rig',
        'Tree',
      ])
      expect(await patch({ base: 2, removed: ['Tree'] })).to.include({ revision: 3 })
    })

    it('is stale without the first part, and after another scene', async () => {
      const stale = { type: 'error', code: 'stale' }
      expect(await patch({ unset: ['a'] })).to.include(stale)
      await set(scene, true)
      await set({ whole: true })
      expect(await patch({ unset: ['a'] })).to.include(stale)
      await set(scene, true)
      expect(await patch({ base: 1, unset: ['whole'] })).to.include({ code: 'invalid' })
      expect(await patch({ unset: ['a'] })).to.include(stale)
      expect(current()).to.deep.equal({ whole: true })
    })

    it('is stale after a part that is refused for what is in it', async () => {
      const refused = [
        { objects: [{ id: 'Rig' }, { id: 'Rig' }] },
        { objects: [{ id: 'x'.repeat(256) }] },
        { objects: [{ id: 'Rig' }], removed: ['Rig'] },
        { base: 1, objects: [{ id: 'Rig' }], more: true },
      ]
      for (const part of refused) {
        await set(scene, true)
        expect(await patch({ more: true, ...part })).to.include({ code: 'invalid' })
        expect(await patch({ objects: [{ id: 'Tree' }] })).to.include({ code: 'stale' })
      }
      await set(scene, true)
      peer.send('{"type":"scene.patch","objects":[{"id":"Rig","x":1e999}],"more":true}')
      expect(await patch({ objects: [{ id: 'Tree' }] })).to.include({ code: 'stale' })
      await set(scene, true)
      peer.send({ type: 'scene.set', more: true })
      expect(await patch({ objects: [{ id: 'Tree' }] })).to.include({ code: 'stale' })
      expect(current()).to.equal(null)
    })

    it('is refused when it becomes too large, or has objects without ids', async () => {
      expect(await set({ objects: [{}] }, true)).to.include({ code: 'invalid' })
      await set(scene, true)
      const note = 'x'.repeat(10_000)
      expect(await patch({ members: { note }, more: true })).to.include({ code: 'limit' })
      expect(await patch({ unset: ['a'] })).to.include({ code: 'stale' })
      expect(current()).to.equal(null)
    })
  })
})
