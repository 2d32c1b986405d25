import { expect } from 'chai'
import type { LinkClient } from '../../../helpers/link.ts'
import { LinkServer, type Message } from '../harness.ts'

const scene = { frame: 1, objects: [{ id: 'Cube', x: 0 }, { id: 'Lamp' }] }

describe('scene.patch', () => {
  let server: LinkServer
  let peer: LinkClient
  beforeEach(async () => {
    server = await LinkServer.start()
    peer = await server.join()
  })
  afterEach(() => server.stop())

  const current = () => JSON.parse(server.scene.current.text ?? 'null')
  const set = (value: unknown): Promise<Message> => peer.ask({ type: 'scene.set', scene: value })
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
    peer.say({ type: 'scene.set', scene })
    peer.say({ type: 'scene.patch', id: 'p', base: 1, members: { frame: 2 } })
    expect(await set({ last: true })).to.deep.equal({ type: 'ok', revision: 3 })
    expect(peer.messages).to.deep.include({ type: 'ok', id: 'p', revision: 2 })
    expect(current()).to.deep.equal({ last: true })
  })

  it('is stale on another revision, without a scene, and on the scene of another source', async () => {
    const stale = { type: 'error', code: 'stale' }
    expect(await patch({ base: 0, unset: ['a'] })).to.include(stale)
    await set(scene)
    await set(scene)
    expect(await patch({ base: 1, unset: ['frame'] })).to.include(stale)
    await set(null)
    expect(await patch({ base: 3, unset: ['frame'] })).to.include(stale)
    server.scene.setText(JSON.stringify(scene))
    expect(await patch({ base: 4, unset: ['frame'] })).to.include(stale)
    expect(current()).to.deep.equal(scene)
  })

  it('is refused for what is wrong with it, and changes nothing', async () => {
    await set(scene)
    const wrong: [members: object, message: string][] = [
      [{ base: 1 }, 'has none of objects, removed, members and unset'],
      [{ base: -1, unset: ['a'] }, '/base must be a whole number from 0 to 9007199254740991'],
    ]
    for (const [members, message] of wrong) {
      expect(await patch(members)).to.include({ type: 'error', code: 'invalid', message })
    }
    expect(current()).to.deep.equal(scene)
    await set({ objects: [{ id: 1 }] })
    expect(await patch({ base: 2, unset: ['a'] })).to.include({ code: 'invalid' })
  })

  it('is refused when the scene would become too large', async () => {
    await set(scene)
    const objects = Array.from({ length: 100_000 }, (_, at) => ({ id: `Rig.${at}` }))
    const message = 'a scene has at most 100000 objects and 67108864 bytes'
    expect(await patch({ base: 1, objects })).to.include({ code: 'limit', message })
    expect(current()).to.deep.equal(scene)
  })
})
