import { expect } from 'chai'
import { ServiceError } from '../../../../src/lib/util/errors.ts'
import { createFollower, type Read } from '../../../../src/lib/mcp/client/follower.ts'
import { createSceneFollower } from '../../../../src/lib/mcp/client/scene-follower.ts'
import { defaultLimits } from '../../../../src/lib/config/limits.ts'
import { parseResourceUri } from '../../../../src/server/resources/resource-uri.ts'
import { SceneProducer } from '../../../../src/server/resources/scene.ts'
import { SceneState } from '../../../../src/server/resources/scene-state.ts'

/** The scene of a real server, asked without one; `between` runs before each read. */
function sceneOf(between: (uri: string) => void = () => {}) {
  const state = new SceneState(defaultLimits)
  const producer = new SceneProducer(state, defaultLimits)
  const asked: string[] = []
  const read: Read = async text => {
    between(text)
    asked.push(text)
    const uri = parseResourceUri(text, 2048)
    if (!uri.ok) throw new Error(text)
    return (await producer.read(uri.value)).map(({ uri, mimeType = null, ...content }) => ({
      kind: 'text',
      uri,
      mimeType,
      text: 'text' in content ? String(content.text) : '',
    }))
  }
  return { state, read, asked }
}

const frame = (number: number) => ({ frame: number, objects: [{ id: 1, name: 'Cube', x: number }] })

describe('createSceneFollower', () => {
  it('fetches only what changed since the revision that it knows', async () => {
    const { state, read, asked } = sceneOf()
    state.set(frame(1))
    const follower = createSceneFollower()
    expect(await follower.start(read)).to.deep.include({ revision: 1 })
    asked.length = 0
    state.set(frame(2))
    const { after, difference } = await follower.look(read)
    expect(asked).to.deep.equal(['scene://delta?since=1'])
    expect(after).to.deep.equal({ kind: 'json', value: frame(2), revision: 2, goneSince: null })
    expect(difference).to.deep.include({ kind: 'json', labels: ['frame', 'objects/Cube/x'] })
  })

  it('compares by itself where the server has forgotten the revision', async () => {
    const { state, read } = sceneOf()
    state.set(frame(1))
    const follower = createSceneFollower()
    await follower.start(read)
    for (let at = 2; at <= 100; at++) state.set(frame(at))
    const { before, after, difference } = await follower.look(read)
    expect(before).to.deep.include({ value: frame(1), revision: 1 })
    expect(after).to.deep.include({ value: frame(100), revision: 100 })
    expect(difference).to.deep.include({ labels: ['frame', 'objects/Cube/x'] })
  })

  it('never takes a scene for one of another revision, however fast it changes', async () => {
    let next = 1
    const { state, read } = sceneOf(() => void state.set(frame(++next)))
    state.set(frame(1))
    const follower = createSceneFollower()
    let shown = await follower.start(read)
    for (let round = 0; round < 20; round++) {
      const { before, after, difference } = await follower.look(read)
      // What is shown now goes on from what was shown before.
      expect(before).to.deep.equal(shown)
      if (difference.kind === 'json' && before.kind === 'json' && before.value !== null) {
        const change = difference.changes.find(({ path }) => path === '/frame')
        expect(change).to.deep.include({ before: (before.value as { frame: number }).frame })
      }
      if (after.kind === 'json' && after.revision !== null) {
        expect(after.value).to.deep.equal(state.find(after.revision) && JSON.parse(state.find(after.revision)?.text ?? '')) // prettier-ignore
      }
      shown = after
    }
  })

  it('knows when there is no scene any more, and when there is one again', async () => {
    const { state, read } = sceneOf()
    const follower = createSceneFollower()
    expect((await follower.start(read)).kind).to.equal('none')
    state.set(frame(1))
    expect((await follower.look(read)).difference.kind).to.equal('replaced')
    state.set(null)
    expect((await follower.look(read)).after.kind).to.equal('none')
    state.set(frame(2))
    expect((await follower.look(read)).after).to.deep.include({ revision: 3 })
  })

  for (const wrong of [
    { base_revision: 2 },
    { truncated: true },
    { changes: [{ path: '/frame' }] },
  ]) {
    it(`reads the scene whole where the delta has ${JSON.stringify(wrong)}`, async () => {
      const { state, read } = sceneOf()
      state.set(frame(1))
      const follower = createSceneFollower()
      await follower.start(read)
      state.set(frame(2))
      const { after } = await follower.look(async uri => {
        const contents = await read(uri)
        if (!uri.includes('since')) return contents
        const changes = [{ path: '/frame', kind: 'changed', before: 1, after: 99 }]
        const delta = { base_revision: 1, revision: 2, truncated: false, changes, ...wrong }
        const text = JSON.stringify(delta)
        return [{ kind: 'text', uri, mimeType: 'application/json', text }]
      })
      expect(after).to.deep.include({ value: frame(2), revision: 2 })
    })
  }

  it('reads the scene whole where nobody knows its revision', async () => {
    let value: object = frame(1)
    const read: Read = async uri => {
      if (uri !== 'scene://current') throw new ServiceError('resource_not_found', uri)
      const text = JSON.stringify(value)
      return [{ kind: 'text', uri, mimeType: 'application/json', text }]
    }
    const follower = createSceneFollower()
    expect(await follower.start(read)).to.deep.include({ revision: null })
    value = frame(2)
    expect((await follower.look(read)).difference).to.deep.include({
      labels: ['frame', 'objects/Cube/x'],
    })
  })
})

describe('createFollower', () => {
  const contents = (text: string, mimeType: string) => [
    { kind: 'text' as const, uri: 'x://a', mimeType, text },
  ]

  it('compares JSON, text and bytes, and what came or went', async () => {
    const steps: [Awaited<ReturnType<Read>> | null, string][] = [
      [contents('[{"id":1}]', 'application/json'), 'replaced'],
      [contents('[{"id":1},{"id":2}]', 'application/vnd.x+json'), 'json'],
      [contents('[{"id":1},  {"id":2}]', 'application/json'), 'same'],
      [contents('{', 'application/json'), 'replaced'],
      [contents('{}', 'text/plain'), 'text'],
      [[{ kind: 'binary', uri: 'x://a', mimeType: null, bytes: Buffer.from('a') }], 'replaced'],
      [[{ kind: 'binary', uri: 'x://a', mimeType: null, bytes: Buffer.from('a') }], 'same'],
      [[{ kind: 'binary', uri: 'x://a', mimeType: null, bytes: Buffer.from('b') }], 'replaced'],
      [null, 'replaced'],
      [null, 'same'],
    ]
    let now: Awaited<ReturnType<Read>> | null = null
    const read: Read = async uri => {
      if (now === null) throw new ServiceError('resource_not_found', uri)
      return now
    }
    const follower = createFollower('x://a')
    await follower.start(read)
    const kinds: string[] = []
    for (const [next] of steps) {
      now = next
      kinds.push((await follower.look(read)).difference.kind)
    }
    expect(kinds).to.deep.equal(steps.map(([, kind]) => kind))
  })
})
