import { expect } from 'chai'
import { applyTo, type ObjectRow } from '../../../page/live/objects.ts'
import { diffJson, type JsonChange } from '../../../src/lib/mcp/json-diff.ts'

const cube: ObjectRow = { id: 'Cube', name: 'Cube', type: 'mesh', visible: true }

function rowsAfter(...changes: JsonChange[]): readonly ObjectRow[] {
  const rows = new Map([[cube.id, cube]])
  for (const change of changes) applyTo(rows, change)
  // An undefined member counts as absent.
  return JSON.parse(JSON.stringify([...rows.values()]))
}

describe('rows of objects', () => {
  it('take over a member that the tree shows', () => {
    const change = { path: '/objects/0/visible', kind: 'changed', before: true, after: false }
    expect(rowsAfter({ ...change, id: 'Cube' } as JsonChange)).to.deep.equal([
      { ...cube, visible: false },
    ])
  })

  it('stay the same for members that the tree does not show', () => {
    const change = { path: '/objects/0/translate', kind: 'changed', before: [0], after: [1] }
    expect(rowsAfter({ ...change, id: 'Cube' } as JsonChange)).to.deep.equal([cube])
  })

  it('come and go with their objects, also when they only leave the list', () => {
    const lamp = { id: 'Lamp', name: 'Lamp', type: 'light', energy: 10 }
    expect(rowsAfter({ path: '/objects/1', kind: 'added', after: lamp, id: 'Lamp' })).to.deep.equal(
      [cube, { id: 'Lamp', name: 'Lamp', type: 'light' }],
    )
    for (const kind of ['removed', 'omitted'] as const) {
      expect(rowsAfter({ path: '/objects/0', kind, before: cube, id: 'Cube' })).to.deep.equal([])
    }
  })

  it('are the same as those of the new scene, for changes of every kind', () => {
    const before = { objects: [cube, { id: 'A', name: 'A' }, { id: 'B', name: 'B', parent: 'A' }] }
    const after = { objects: [{ ...cube, selected: true }, { id: 'B', name: 'B' }, { id: 'C' }] }
    const rows = new Map(before.objects.map(row => [row.id, row as ObjectRow]))
    for (const change of diffJson(before, after, { maxChanges: 100 }).changes) applyTo(rows, change)
    const plain = (row: object) => JSON.parse(JSON.stringify(row))
    expect([...rows.values()].map(plain)).to.deep.equal(after.objects.map(plain))
  })
})
