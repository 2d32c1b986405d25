import { expect } from 'chai'
import { createFollower, type Read } from '../../../../src/lib/mcp/client/follower.ts'
import { ServiceError } from '../../../../src/lib/util/errors.ts'
import { parseResourceUri } from '../../../../src/server/resources/resource-uri.ts'
import { SceneProducer } from '../../../../src/server/resources/scene/producer.ts'
import { SceneState } from '../../../../src/server/resources/scene/state.ts'
import { defaultBounds } from '../../../helpers/bounds.ts'

const contents = (text: string, mimeType = 'application/json', meta?: any) => [
  { kind: 'text' as const, uri: 'x://a', mimeType, text, meta },
]

describe('createFollower of a scene', () => {
  /** The scene of a real server, asked without one. */
  function sceneOf(limits = defaultBounds) {
    const state = new SceneState(limits)
    const producer = new SceneProducer(state, limits)
    const asked: string[] = []
    const read: Read = async text => {
      asked.push(text)
      const uri = parseResourceUri(text, 2048)
      if (!uri.ok) throw new Error(text)
      const [content] = (await producer.read(uri.value)) as any
      return contents(content.text, content.mimeType, content._meta)
    }
    return { state, read, asked }
  }
  const frame = (number: number) => ({
    frame: number,
    objects: [{ id: 1, name: 'Cube', x: number }],
  })

  it('reads it once, then only what changed since the revision that it knows', async () => {
    const { state, read, asked } = sceneOf()
    state.set(frame(1))
    const follower = createFollower('scene://current')
    expect(await follower.start(read)).to.deep.include({
      text: 'revision 1, 2 members',
      facts: { run: state.run, revision: 1 },
    })
    state.set(frame(2))
    const news = await follower.look(read)
    expect(asked).to.deep.equal(['scene://current', `scene://delta?since=1&run=${state.run}`])
    expect(news?.lines).to.deep.equal([
      'revision 1 → 2: 2 objects or settings changed',
      '- frame 1 → 2',
      '- Cube x 1 → 2',
    ])
    expect(news?.facts).to.deep.include({ base_revision: 1, revision: 2, truncated: false })
    expect(news?.facts.changes).to.have.length(2)
    expect(await follower.look(read)).to.equal(null)
    state.set(frame(2))
    expect((await follower.look(read))?.lines[0]).to.contain('nothing that service-cli follows')
  })

  it('says of the first scene that it came', async () => {
    const { state, read } = sceneOf()
    const follower = createFollower('scene://current')
    await follower.start(read)
    state.set(frame(1))
    expect((await follower.look(read))?.lines[0]).to.equal('revision 1: the scene came')
    state.set(frame(2))
    expect((await follower.look(read))?.lines[0]).to.contain('revision 1 → 2: 2 objects')
  })

  it('says so where the server has forgotten the revision, and goes on from there', async () => {
    const { state, read } = sceneOf({ ...defaultBounds, maxSceneRevisionBytes: 1 })
    state.set(frame(1))
    const follower = createFollower('scene://current')
    await follower.start(read)
    for (let at = 2; at <= 4; at++) state.set(frame(at))
    expect((await follower.look(read))?.lines).to.match(/^revision 4; what changed is not known/)
    state.set(frame(5))
    expect((await follower.look(read))?.facts).to.include({ base_revision: 4, revision: 5 })
  })

  it('knows when there is no scene any more, and when there is one again', async () => {
    const { state, read } = sceneOf()
    const follower = createFollower('scene://current')
    expect((await follower.start(read)).text).to.equal('revision 0, no scene')
    state.set(frame(1))
    expect((await follower.look(read))?.lines).to.include('- Cube added')
    state.set(null)
    expect((await follower.look(read))?.lines[0]).to.contain('does not share its scene now')
    state.set(frame(2))
    expect((await follower.look(read))?.facts).to.include({ revision: 3 })
  })

  it('compares what another server has under this URI', async () => {
    let text = '{"objects":[{"id":1,"name":"Cube","x":1}]}'
    const read: Read = async () => contents(text)
    const follower = createFollower('scene://current')
    await follower.start(read)
    text = '{"objects":[{"id":2,"name":"Lamp"},{"id":1,"name":"Cube","x":2}]}'
    expect((await follower.look(read))?.lines).to.deep.equal(['Lamp added', 'Cube x 1 → 2'])
  })
})

describe('createFollower', () => {
  it('compares JSON, text and bytes, and what came or went', async () => {
    const binary = (text: string) => [
      { kind: 'binary' as const, uri: 'x://a', mimeType: null, bytes: Buffer.from(text) },
    ]
    const steps: [Awaited<ReturnType<Read>> | null, readonly string[] | null][] = [
      [contents('[{"id":1},{"id":2.0}]', 'application/vnd.x+json'), ['2.0 added']],
      [contents('[{"id":2},  {"id":1}]'), null],
      [contents('{'), ['1 line']],
      [contents('{\na\nb', 'text/plain'), ['+ a', '+ b']],
      [contents('{\nb\nb', 'text/plain'), ['- a']],
      [binary('a'), ['1 B of binary data']],
      [binary('a'), null],
      [binary('bc'), ['2 B of binary data']],
      [null, ['does not exist now']],
      [null, null],
      [contents('[]'), ['0 elements']],
    ]
    let now: Awaited<ReturnType<Read>> | null = contents('[{"id":1}]')
    const read: Read = async uri => {
      if (now === null) throw new ServiceError('resource_not_found', uri)
      return now
    }
    const follower = createFollower('x://a')
    await follower.start(read)
    for (const [next, lines] of steps) {
      now = next
      expect((await follower.look(read))?.lines ?? null).to.deep.equal(lines)
    }
  })

  it('matches the instances of a gateway by their ids', async () => {
    const row = (id: string, alive: boolean) => ({
      instance_id: id,
      display_name: `App ${id}`,
      alive,
    })
    let rows = [row('a', true), row('b', true)]
    const read: Read = async () => contents(JSON.stringify({ instances: rows }))
    const follower = createFollower('gateway://instances')
    await follower.start(read)
    rows = [row('b', false), row('c', true)]
    expect((await follower.look(read))?.lines).to.have.members([
      'instances: App a removed',
      'instances: App b alive true → false',
      'instances: App c added',
    ])
  })

  it('has the new entries of a log, and how many came and were pushed out', async () => {
    let ids: unknown[] = [1, 2]
    const read: Read = async () =>
      contents(
        JSON.stringify({ entries: ids.map(id => ({ id, action: `step.${JSON.stringify(id)}` })) }),
      )
    const follower = createFollower('audit://recent')
    await follower.start(read)
    ids = [2, 3]
    expect(await follower.look(read)).to.deep.include({ lines: ['step.3 {}'] })
    ids = [6, 7]
    expect((await follower.look(read))?.lines[0]).to.equal('… 2 earlier entries left out')
    ids = [{ toString: 0, valueOf: 0 }, 7]
    expect(await follower.look(read)).to.equal(null)
  })
})
