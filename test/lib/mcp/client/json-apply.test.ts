import { expect } from 'chai'
import fc from 'fast-check'
import { applyChanges } from '../../../../src/lib/mcp/client/json-apply.ts'
import { diffJson, type JsonChange } from '../../../../src/lib/util/json-diff.ts'
import { anyScene, throughJson } from '../../util/any-scene.ts'

describe('applyChanges', () => {
  it('makes of the old value the new one, and leaves the old one as it is', () => {
    fc.assert(
      fc.property(anyScene, anyScene, (a, b) => {
        const [before, after] = [throughJson(a), throughJson(b)]
        const kept = JSON.stringify(before)
        const { changes } = diffJson(before, after, 1_000_000)
        const applied = applyChanges(before, changes)
        expect(applied?.value).to.deep.equal(after)
        expect(applied?.labels).to.have.length(changes.length)
        expect(JSON.stringify(before)).to.equal(kept)
      }),
    )
  })

  it('calls the elements of arrays what people call them', () => {
    const before = { objects: [{ id: 1, name: 'Cube', x: 0 }, { id: 2 }, { x: [1] }] }
    const changes: JsonChange[] = [
      { path: '/objects/1', kind: 'removed', before: { id: 2 } },
      { path: '/objects/0/x', kind: 'changed', before: 0, after: 1 },
      { path: '/objects/1/x/0', kind: 'changed', before: 1, after: 2 },
      { path: '/objects/2', kind: 'added', after: { name: 'Lamp' } },
      { path: '/a~1b', kind: 'added', after: 1 },
    ]
    expect(applyChanges(before, changes)?.labels).to.deep.equal([
      'objects/2',
      'objects/Cube/x',
      'objects/1/x/0',
      'objects/Lamp',
      'a/b',
    ])
  })

  const misfits: JsonChange[] = [
    { path: '/a/b', kind: 'added', after: 1 },
    { path: '/gone', kind: 'changed', before: 1, after: 2 },
    { path: '/list/3', kind: 'removed', before: 1 },
    { path: '/list/-1', kind: 'added', after: 1 },
    { path: '/__proto__/x', kind: 'added', after: 1 },
  ]
  for (const change of misfits) {
    it(`refuses ${change.kind} at ${change.path} where it does not fit`, () => {
      expect(applyChanges({ a: 1, list: [1] }, [change])).to.equal(null)
    })
  }
})
