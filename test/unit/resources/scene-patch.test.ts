import { expect } from 'chai'
import { codeOf, payload, registry } from './support.ts'

type Change = Record<string, any>

describe('a scene that is patched', () => {
  const scene = { frame: 1, objects: ['Cube', 'Lamp', 'Rig'].map(each => ({ id: each, x: 0 })) }

  it('names the object of each change, also of one that left and came back', () => {
    const resources = registry()
    resources.setScene(scene)
    resources.patchScene({ objects: [{ id: 'Lamp', x: 1 } as any], removed: ['Cube'] })
    resources.patchScene({ objects: [{ id: 'Cube', x: 5 } as any], members: { frame: 2 } })
    const { changes } = payload(resources, 'scene://delta?since=1') as { changes: Change[] }
    expect(changes).to.deep.equal([
      { path: '/frame', kind: 'changed', before: 1, after: 2 },
      { path: '/objects/0/x', kind: 'changed', before: 0, after: 1, id: 'Lamp' },
      { path: '/objects/2/x', kind: 'changed', before: 0, after: 5, id: 'Cube' },
    ])
  })

  it('counts the numbers that became null in its warnings', () => {
    const resources = registry()
    resources.setScene({ objects: [], warnings: [{ code: 'other' }] })
    resources.patchScene({ objects: [{ id: 'Cube', x: NaN, y: -Infinity }], members: { a: null } })
    const [other, notFinite] = [{ code: 'other' }, { code: 'number_not_finite', count: 2 }]
    expect(payload(resources, 'scene://current')).to.deep.include({ warnings: [other, notFinite] })
  })

  it('calls objects omitted that leave a list of some of the objects', () => {
    const resources = registry()
    resources.setScene(scene)
    resources.patchScene({ removed: ['Rig'], members: { truncated: { total: 3 } } })
    const { changes } = payload(resources, 'scene://delta') as { changes: Change[] }
    expect(changes.map(({ kind }) => kind)).to.deep.equal(['omitted'])
  })

  it('cuts a long delta', () => {
    const resources = registry()
    const objects = (x: number) => Array.from({ length: 1001 }, (_, at) => ({ id: `${at}`, x }))
    resources.setScene({ objects: objects(0) })
    resources.patchScene({ objects: objects(7) })
    const delta: any = payload(resources, 'scene://delta')
    expect([delta.changes.length, delta.truncated]).to.deep.equal([1000, true])
  })

  it('keeps its application, its revision and its listing as any scene', async () => {
    const resources = registry()
    const revision = resources.setScene(scene)
    const updates: string[] = []
    resources.listen({ resourceUpdated: uri => void updates.push(uri) })
    expect(resources.patchScene({ members: { frame: 2 } })).to.equal(revision + 1)
    expect(updates).to.deep.equal(['scene://current', 'scene://delta'])
    const listed: any = await resources.page(undefined)
    const entry = listed.descriptors.find((each: any) => each.uri === 'scene://current')
    expect(entry.size).to.equal(JSON.stringify({ ...scene, frame: 2 }).length)
  })

  const refused: [why: string, patch: any, message: RegExp][] = [
    ['nothing', {}, /has none of objects, removed, members and unset/],
    ['no list', { objects: {} }, /\/objects must be an array/],
    ['an object without id', { objects: [{ id: 'a' }, {}] }, /\/objects\/1 must be an object with/],
    ['an id twice', { objects: [{ id: 'a' }, { id: 'a' }] }, /\/objects\/1 has an id that came/],
    ['an id set and removed', { objects: [{ id: 'a' }], removed: ['a'] }, /\/removed has an id/],
    ['removed numbers', { removed: [1] }, /\/removed\/0 must be a string/],
    ['objects as a member', { members: { objects: [] } }, /\/members must not have "objects"/],
    [
      'a member set and unset',
      { members: { a: 1 }, unset: ['a'] },
      /\/unset has a name of "members"/,
    ],
  ]
  for (const [why, patch, message] of refused) {
    it(`is not changed by a patch of ${why}`, () => {
      const resources = registry()
      resources.setScene(scene)
      expect(() => resources.patchScene(patch)).to.throw(TypeError, message)
      expect(payload(resources, 'scene://current')).to.deep.equal(scene)
    })
  }

  it('needs objects that each have a text id, and a scene', () => {
    const resources = registry()
    expect(codeOf(() => resources.patchScene({ unset: ['a'] }))).to.equal('scene_stale')
    for (const objects of [undefined, {}, [1], [{}], [{ id: 1 }], [{ id: 'a' }, { id: 'a' }]]) {
      resources.setScene({ objects })
      expect(() => resources.patchScene({ unset: ['a'] })).to.throw(TypeError, /text id/)
    }
  })

  it('takes the most objects and bytes, and not one more', () => {
    const resources = registry({ maxPatchedObjects: 4, maxMessageBytes: 200 })
    resources.setScene(scene)
    resources.patchScene({ objects: [{ id: 'Fourth' }] })
    const before = payload(resources, 'scene://current')
    const tooMuch = [{ objects: [{ id: 'Fifth' }] }, { members: { note: 'x'.repeat(200) } }]
    for (const patch of tooMuch) {
      expect(codeOf(() => resources.patchScene(patch))).to.equal('limit_reached')
      expect(payload(resources, 'scene://current')).to.deep.equal(before)
    }
    expect(payload(resources, 'scene://delta')).to.include({ base_revision: 1, revision: 2 })
  })

  it('is compared with a whole scene that follows, since each of its revisions', () => {
    const resources = registry()
    resources.setScene(scene)
    resources.patchScene({ removed: ['Cube'], members: { x: 1 } })
    resources.patchScene({ objects: [{ id: 'New' }], unset: ['frame'] })
    resources.setScene({ ...scene, frame: 2 })
    const since = (revision: number) => {
      const { changes } = payload(resources, `scene://delta?since=${revision}`)
      return (changes as Change[]).map(({ kind, path, id = '' }) => `${kind} ${path} ${id}`.trim())
    }
    expect(since(1)).to.deep.equal(['changed /frame'])
    expect(since(2)).to.deep.equal(['removed /x', 'changed /frame', 'added /objects/0 Cube'])
    expect(since(3)).to.deep.equal([
      'removed /x',
      'added /frame',
      'removed /objects/2 New',
      'added /objects/0 Cube',
    ])
  })
})
