import { expect } from 'chai'
import { describeChanges } from '../../../src/lib/mcp/change-words.ts'
import { payload, registry } from './support.ts'

describe('scene://delta', () => {
  it('returns a reset when the base belongs to an earlier application', () => {
    const resources = registry()
    for (const frame of [1, 2]) resources.scene.replaceText(`{"frame":${frame}}`, 'run-1')
    resources.scene.replaceText('{"frame":3}', 'run-2')
    for (const query of ['', '?since=1', '?since=2']) {
      const read = payload(resources, `scene://delta${query}`)
      const reason = 'the scene was shared anew, and may be of another document'
      const { run } = resources.scene
      expect(read, query).to.deep.equal({ reset: true, run, revision: 3, reason })
    }
    expect(payload(resources, 'scene://delta?since=3')).to.include({ base_revision: 3 })
  })

  it('calls nothing of the first scene added, unless it is asked for since 0', () => {
    const resources = registry()
    resources.setScene({ objects: [{ id: 'Cube' }] })
    const reason = 'it is the first scene of this run of the server'
    const { run } = resources.scene
    const first = payload(resources, 'scene://delta')
    expect(first).to.deep.equal({ reset: true, run, revision: 1, reason })
    expect(payload(resources, 'scene://delta?since=0')['changes']).to.have.length(1)
  })

  it('reports objects beyond the limit as omitted and listed, never as removed or added', () => {
    const resources = registry()
    const [cube, lamp] = [{ id: 'Cube' }, { id: 'Lamp' }]
    const scenes = [{ objects: [cube, lamp] }, { objects: [cube], truncated: { total: 2 } }]
    for (const scene of [...scenes, scenes[0]!, { objects: [cube] }]) resources.setScene(scene)
    const kinds = [1, 2, 3].map(since => {
      const { changes } = payload(resources, `scene://delta?since=${since}`)
      return (changes as { path: string; kind: string }[])
        .filter(({ path }) => path === '/objects/1')
        .map(({ kind }) => kind)
    })
    expect(kinds).to.deep.equal([['removed'], [], ['removed']])
    resources.setScene(scenes[1]!)
    expect(payload(resources, 'scene://delta?since=3')['changes']).to.deep.equal([
      { path: '/objects/1', kind: 'omitted', before: lamp, id: 'Lamp' },
    ])
    resources.setScene(scenes[0]!)
    expect(payload(resources, 'scene://delta')['changes']).to.deep.equal([
      { path: '/objects/1', kind: 'listed', after: lamp, id: 'Lamp' },
    ])
  })

  it('returns a reset for an unknown revision', () => {
    const resources = registry({ maxSceneRevisionBytes: 12 })
    for (const frame of [1, 2, 3]) resources.setScene({ frame })
    for (const since of [0, 1, 4, 999]) {
      expect(payload(resources, `scene://delta?since=${since}`)).to.deep.equal({
        reset: true,
        run: resources.scene.run,
        revision: 3,
        reason: `revision ${since} is not kept`,
      })
    }
  })

  it('lists a bounded number of changes, and sets truncated', () => {
    const resources = registry()
    resources.setScene({ objects: Array.from({ length: 1001 }, (_, id) => ({ id, type: 'mesh' })) })
    resources.setScene({ objects: [{ id: 0, type: 'mesh' }], frame: 1, end: 2 })
    const delta = payload(resources, 'scene://delta')
    expect(delta['changes']).to.have.length(1000)
    expect(delta).to.include({ truncated: true })
  })
})

describe('a change of scene://delta', () => {
  const changesOf = (...scenes: object[]) => {
    const resources = registry()
    for (const scene of scenes) resources.setScene(scene)
    return payload(resources, 'scene://delta')['changes']
  }

  it('names the object that it is in', () => {
    const lamp = { id: 'Lamp', name: 'Key light', energy: 10, data: { shadow: true } }
    const moved = { ...lamp, energy: 20, data: { shadow: false } }
    const changes = changesOf({ objects: [{ id: 'A' }, lamp] }, { objects: [moved], frame: 2 })
    const named = { id: 'Lamp', name: 'Key light' }
    expect(changes).to.deep.equal([
      { path: '/frame', kind: 'added', after: 2 },
      { path: '/objects/0', kind: 'removed', before: { id: 'A' }, id: 'A' },
      { path: '/objects/0/energy', kind: 'changed', before: 10, after: 20, ...named },
      { path: '/objects/0/data/shadow', kind: 'changed', before: true, after: false, ...named },
    ])
  })

  it('is no counter or time of the snapshot, and not that the document was saved', () => {
    const document = { path: '/a.blend', modified: true }
    const scene = { change_count: 1, captured_at: 'now', truncated: { total: 1 }, document }
    const saved = { change_count: 2, captured_at: 'later', truncated: { total: 2 } }
    const changes = (path: string) =>
      changesOf(scene, { ...saved, document: { path, modified: false } })
    expect(changes('/a.blend')).to.deep.equal([])
    expect(changes('/b.blend')).to.deep.equal([
      { path: '/document/path', kind: 'changed', before: '/a.blend', after: '/b.blend' },
    ])
  })

  it('has the digits that the application sent', async () => {
    const resources = registry()
    resources.scene.setText('{"objects":[{"id":9007199254740993,"x":1.0}]}')
    resources.scene.setText('{"objects":[{"id":9007199254740993,"x":9007199254740995}]}')
    const [content] = await resources.read('scene://delta')
    expect((content as { text: string }).text).to.contain(
      '"before":1.0,"after":9007199254740995,"id":9007199254740993',
    )
  })
})

describe('a change in words', () => {
  it('tells names, switches and empty lists as a reader would', () => {
    const resources = registry()
    const matrix = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    const lamp = { id: 'Lamp', name: 'Lamp', energy: 10, selected: true }
    const cube = { id: 'Cube', name: 'Cube', matrix, materials: ['Red'] }
    const first = resources.setScene({ objects: [cube, lamp] })
    const after = [
      { ...cube, matrix: [...matrix.slice(0, 15), 2], materials: [], selected: true },
      { id: 'Key', name: 'Key', energy: 10, selected: true },
      { id: 'Fill', name: 'Fill', energy: 10 },
    ]
    const second = resources.setScene({ objects: after })
    const words = (since: number) =>
      describeChanges(payload(resources, `scene://delta?since=${since}`)['changes'] as any)
    expect(words(first)).to.have.members([
      'Cube matrix changed, materials Red → none, selected',
      'Lamp removed',
      '2 objects added: Key, Fill',
    ])
    const { selected, ...deselected } = after[0]!
    resources.setScene({ objects: [deselected, ...after.slice(1)] })
    expect(words(second)).to.deep.equal(['Cube no longer selected'])
  })
})
