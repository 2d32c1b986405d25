import { expect } from 'chai'
import { until } from '../../helpers/until.ts'
import { Bench, errorOf } from './bench.ts'
import { type Message, type Peer, welcome, within } from './scripted-server.ts'

const limits = { max_message_bytes: 2000, max_scene_bytes: 100_000, max_patched_objects: 500 }
const patching = { ...welcome, scene_patch: true, limits: { ...welcome.limits, ...limits } }
const pad = 'x'.repeat(30)
const propsOf = (ids: readonly string[]) => ids.map(id => ({ id, pad, x: 0 }))
const props = propsOf(Array.from({ length: 100 }, (_, at) => `Prop.${at}`))

describe('HostClient, patching the scene', () => {
  let bench: Bench
  beforeEach(() => {
    bench = new Bench()
  })
  afterEach(() => bench.end())

  const objectsOf = (parts: readonly Message[]): object[] =>
    parts.flatMap(({ scene, objects = scene.objects }) => objects)

  /** The last part of a scene, the only one that is answered. */
  const lastPart = async (peer: Peer): Promise<Message> => {
    const isLast = ({ type, id, base }: Message) =>
      type === 'scene.patch' && id !== undefined && base === undefined
    await peer.until(() => peer.messages.some(isLast), 'the last part')
    return peer.messages.find(isLast) as Message
  }

  it('does not end its process for a welcome whose bounds of scenes are no numbers', async () => {
    // `Math.max` throws for it.
    const hostile = { toString: 0, valueOf: 0 }
    for (const name of ['max_scene_bytes', 'max_patched_objects']) {
      const given = { ...patching.limits, [name]: hostile }
      const server = await bench.serve({ welcome: { ...patching, limits: given } })
      const host = bench.client(server.url)
      host.setScene({ objects: props })
      host.start()
      await until(() => host.status.lastError?.includes(name) === true, 'the reason')
      await host.stop()
    }
  })

  it('sends parts within the bound of a message, each object once and in order', async () => {
    const { host, peer } = await bench.linked({ welcome: patching, answer: () => null })
    const note = 'after the objects'
    host.setScene({ frame: 1, objects: props, note })
    await lastPart(peer)
    const parts = peer.messages.filter(({ type }) => type.startsWith('scene'))
    const [{ type, scene } = {} as Message, ...rest] = parts
    expect({ type, ...scene }).to.include({ type: 'scene.set', frame: 1, note })
    expect(objectsOf(parts)).to.deep.equal(props)
    expect(rest.filter(({ more }) => more !== true)).to.deep.equal(parts.slice(-1))
    for (const part of parts) {
      expect(JSON.stringify(part).length).to.be.at.most(limits.max_message_bytes)
    }
  })

  it('sends what was patched while the parts were on their way as one patch', async () => {
    const { host, peer } = await bench.linked({ welcome: patching, answer: () => null })
    host.setScene({ objects: props })
    const { id } = await lastPart(peer)
    host.patchScene({ objects: [{ id: 'Prop.5', x: 1 }], members: { frame: 2 } })
    host.patchScene({ removed: ['Prop.6'] })
    const count = peer.messages.length
    peer.send({ type: 'ok', id, revision: 7 })
    await peer.until(() => peer.messages.length > count, 'the patch')
    expect(peer.messages[count]).to.deep.include({
      type: 'scene.patch',
      base: 7,
      objects: [{ id: 'Prop.5', x: 1 }],
      removed: ['Prop.6'],
      members: { frame: 2 },
      unset: [],
    })
  })

  it('sends the whole scene in parts again after a stale patch', async () => {
    const { host, peer } = await bench.linked({ welcome: patching, answer: () => null })
    host.setScene({ objects: props })
    peer.send({ type: 'ok', id: (await lastPart(peer)).id, revision: 7 })
    await within(host.sceneSettled(), 'the scene')
    host.patchScene({ objects: [{ id: 'Prop.0', x: 1 }] })
    await peer.until(() => peer.messages.some(({ base }) => base === 7), 'the patch')
    const { id } = peer.messages.at(-1) as Message
    peer.messages.splice(0)
    const stale = { code: 'stale', message: 'another scene', retryable: false }
    peer.send({ type: 'error', id, ...stale })
    await lastPart(peer)
    expect(objectsOf(peer.messages)).to.deep.equal([{ id: 'Prop.0', x: 1 }, ...props.slice(1)])
  })

  it('sends the whole scene in parts again after a lost link', async () => {
    const answer = () => ({ revision: 7 })
    const { server, host, peer } = await bench.linked({ welcome: patching, answer })
    host.setScene({ objects: props })
    await within(host.sceneSettled(), 'the scene')
    host.patchScene({ removed: ['Prop.0'] })
    await within(host.sceneSettled(), 'the patch')
    peer.socket.terminate()
    const again = await server.peer(2)
    await lastPart(again)
    const parts = again.messages.filter(({ type }) => type.startsWith('scene'))
    expect(objectsOf(parts)).to.deep.equal(props.slice(1))
  })

  it('sends whole scenes to a server that takes no patches', async () => {
    const { host, peer } = await bench.linked({ answer: () => ({ revision: 7 }) })
    host.setScene({ objects: props })
    for (const x of [1, 2, 3]) {
      await within(host.sceneSettled(), 'the scene')
      host.patchScene({ objects: [{ id: 'Prop.0', x }] })
    }
    await within(host.sceneSettled(), 'the scene')
    expect(peer.of('scene.patch')).to.deep.equal([])
    expect(peer.of('scene.set').map(({ scene }) => scene.objects[0].x)).to.deep.equal([0, 1, 2, 3])
  })

  it('reports a scene whose other members are longer than a message, and sends none of it', async () => {
    const { host, peer } = await bench.linked({ welcome: patching })
    host.setScene({ note: 'x'.repeat(3000), objects: props })
    const { code, message } = await errorOf(host.sceneSettled())
    expect([code, message]).to.deep.equal([
      'limit',
      'one object, or all other members, are longer than a message',
    ])
    expect(peer.of('scene.set')).to.deep.equal([])
  })

  it('sends a scene once whose parts the server refuses', async () => {
    const { host, peer } = await bench.linked({ welcome: patching, answer: () => null })
    host.setScene({ objects: props })
    const refused = errorOf(host.sceneSettled())
    const { id } = await lastPart(peer)
    const stale = { code: 'stale', message: 'the first part is missing', retryable: false }
    peer.send({ type: 'error', id, ...stale })
    expect(await refused).to.include({ message: 'the server refused a part of the scene' })
    // Behind the refusal, so that it is known to have arrived.
    peer.send({ type: 'newer.question', id: 'q' })
    await peer.next('error')
    expect(peer.of('scene.set')).to.have.length(1)
  })

  for (const id of ['', 'x'.repeat(256)]) {
    it(`sends a scene with an id of ${id.length} characters whole, or refuses it`, async () => {
      const { host, peer } = await bench.linked({
        welcome: patching,
        answer: () => ({ revision: 7 }),
      })
      host.setScene({ pad, objects: propsOf([id, 'Cube']) })
      await within(host.sceneSettled(), 'the scene')
      host.setScene({ pad, objects: [...propsOf([id, 'Cube']), { id: 'Lamp' }] })
      await within(host.sceneSettled(), 'the scene')
      expect(peer.of('scene.patch')).to.deep.equal([])
      expect(() => host.patchScene({ members: { frame: 2 } })).to.throw('set one first')
      expect(() => host.setScene({ objects: [...props, { id }] })).to.throw('need ids')
    })
  }

  it('refuses a patch that is nested deeper than the server takes', async () => {
    const { host } = await bench.linked({ welcome: patching, answer: () => ({ revision: 7 }) })
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
    const object = (levels: number) => () =>
      host.patchScene({ objects: [{ id: 'Cube', nested: nested(levels - 1) }] })
    const member = (levels: number) => () =>
      host.patchScene({ members: { nested: nested(levels) } })
    host.setScene({ objects: [{ id: 'Cube' }] })
    object(60)()
    member(61)()
    expect(object(61)).to.throw(TypeError, 'deeper than 62 levels')
    expect(member(62)).to.throw(TypeError, 'deeper than 62 levels')
    await within(host.sceneSettled(), 'the scene')
  })
})
