import { expect } from 'chai'
import { RawSession, startServer } from '../helpers/mcp.ts'
import {
  contentOf,
  listAll,
  listen,
  readFailure,
  scene,
  type Section,
  useServer,
} from './support.ts'

describe('scene://current', () => {
  const section = useServer()
  const setScene = (value: object | null) => section.server.resources().setScene(value)

  it('is listed as application/json', async () => {
    const listed = (await listAll(section.session)).find(each => each.uri === scene)
    expect(listed).to.include({ mimeType: 'application/json' })
  })

  it('is a placeholder with a status and a hint until a scene is set, and once it is cleared', async () => {
    const { session } = section
    for (const isCleared of [false, true]) {
      if (isCleared) [{ n: 1 }, null].forEach(setScene)
      const placeholder = await session.readJson(scene)
      expect(placeholder).to.have.all.keys('status', 'hint')
      expect(placeholder).to.include({ status: 'no_snapshot' })
    }
  })

  it('is the snapshot of setScene as JSON text, whatever its members are', async () => {
    const snapshot = { objects: [{ id: 'Cube', at: [0, 1.5, -2] }], name: 'Szene „1“', empty: {} }
    setScene(snapshot)
    const content = await contentOf(section.session, scene)
    expect(content).to.include({ uri: scene, mimeType: 'application/json' })
    expect(JSON.parse(content.text)).to.deep.equal(snapshot)
  })

  it('is replaced as a whole', async () => {
    setScene({ old: true, shared: { a: 1 } })
    setScene({ shared: { b: 2 } })
    expect(await section.session.readJson(scene)).to.deep.equal({ shared: { b: 2 } })
  })

  it('is what was given at the call, not what became of the object', async () => {
    const live = { objects: ['Cube'] }
    setScene(live)
    live.objects.push('Lamp')
    expect(await section.session.readJson(scene)).to.deep.equal({ objects: ['Cube'] })
  })

  it('sends one update for every call, equal and null too, to every subscribed session', async () => {
    const other = await RawSession.open(section.url)
    const streams = [await listen(section.session, scene), await listen(other, scene)]
    for (const value of [{ n: 1 }, { n: 1 }, null, null]) setScene(value)
    for (const events of streams) {
      await events.until(() => events.updates.length === 4)
      for (const message of events.messages) {
        expect(message).to.deep.equal({
          jsonrpc: '2.0',
          method: 'notifications/resources/updated',
          params: { uri: scene },
        })
      }
    }
  })

  const cycle: { self?: object } = {}
  cycle.self = cycle
  const refused: [string, unknown][] = [
    ['undefined', undefined],
    ['an array', [1]],
    ['more than 64 levels', nested(65)],
    ['a reference to itself', cycle],
  ]
  for (const [what, value] of refused) {
    it(`refuses ${what} with a TypeError, keeps the old scene and sends no update`, async () => {
      const { session } = section
      const events = await listen(session, scene)
      setScene({ old: true })
      expect(() => setScene(value as object)).to.throw(TypeError)
      await events.until(() => events.updates.length > 0)
      expect(await session.readJson(scene)).to.deep.equal({ old: true })
      expect(events.updates).to.have.length(1)
    })
  }

  it('takes 64 levels', async () => {
    setScene(nested(64))
    expect(await section.session.readJson(scene)).to.deep.equal(nested(64))
  })
})

function nested(levels: number): object {
  let value: object = {}
  for (let level = 1; level < levels; level++) value = { in: value }
  return value
}

describe('scene://delta', () => {
  const section = useServer()

  it('has base_revision, revision, truncated, and changes with path, kind, before and after', async () => {
    const { read, first } = await deltaAfter(section, [
      { frame: 1, gone: true },
      { frame: 2, new: [1] },
    ])
    expect(read).to.include({ base_revision: first, revision: first + 1, truncated: false })
    expect(read.changes).to.have.deep.members([
      { path: '/frame', kind: 'changed', before: 1, after: 2 },
      { path: '/gone', kind: 'removed', before: true },
      { path: '/new', kind: 'added', after: [1] },
    ])
  })

  it('aligns arrays of objects on id', async () => {
    const [cube, lamp] = [
      { id: 'Cube', x: 0 },
      { id: 'Lamp', x: 5 },
    ]
    const scenes = [{ objects: [cube, lamp] }, { objects: [{ ...lamp, x: 6 }] }]
    const { read } = await deltaAfter(section, scenes)
    expect(read.changes).to.deep.equal([
      { path: '/objects/0', kind: 'removed', before: cube, id: 'Cube' },
      { path: '/objects/0/x', kind: 'changed', before: 5, after: 6, id: 'Lamp' },
    ])
  })

  it('has all changes since the revision of ?since=, and a reset for an unknown one', async () => {
    const { session } = section
    const { first } = await deltaAfter(section, [{ n: 1 }, { n: 2 }, { n: 3 }])
    const revision = first + 2
    const read = await session.readJson(`scene://delta?since=${first}`)
    expect(read).to.deep.include({ base_revision: first, revision })
    expect(read.changes).to.deep.equal([{ path: '/n', kind: 'changed', before: 1, after: 3 }])
    const unknown = await session.readJson(`scene://delta?since=${revision + 1}`)
    const reason = `revision ${revision + 1} is not kept`
    expect(unknown).to.deep.equal({ reset: true, run: read.run, revision, reason })
  })

  it('is a reset for a revision of another run of the server', async () => {
    const { server, session } = section
    for (let n = 0; n < 12; n++) server.resources().setScene({ n })
    const { run, revision: since } = (await contentOf(session, scene))._meta['service-cli/scene']
    const later = await startServer()
    const own = await RawSession.open(later.url)
    for (const n of [1, 2, 3]) later.server.resources().setScene({ n })
    const uri = `scene://delta?since=${since}`
    const read = await own.readJson(`${uri}&run=${run}`)
    expect(read).to.deep.include({ reset: true, revision: 3 })
    expect(read.run).to.be.a('string').and.not.equal(run)
    const reason = `revision ${since} is not kept`
    expect(await own.readJson(uri)).to.deep.equal({ ...read, reason })
  })

  it('is the placeholder without a scene', async () => {
    const { read } = await deltaAfter(section, [{ a: 1 }, null])
    expect(read).to.include({ status: 'no_snapshot' })
  })

  it('refuses a since that is no number with −32602', async () => {
    for (const since of ['x', '-1', '1.5', '']) {
      const { code } = await readFailure(section.session, `scene://delta?since=${since}`)
      expect(code, since).to.equal(-32602)
    }
  })

  it('is updated by every setScene, under the URI that was subscribed', async () => {
    const events = await listen(section.session, 'scene://delta?since=0')
    section.server.resources().setScene({})
    await events.until(() => events.updates.length === 1)
    expect(events.updates).to.deep.equal(['scene://delta?since=0'])
  })
})

/** Sets the scenes and reads the delta; `first` is the revision of the first of them. */
async function deltaAfter({ server, session }: Section, scenes: readonly (object | null)[]) {
  const [first = 0] = scenes.map(each => server.resources().setScene(each))
  return { first, read: await session.readJson('scene://delta') }
}
