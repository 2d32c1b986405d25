import { expect } from 'chai'
import fc from 'fast-check'
import { type JsonChange, diffJson } from '../../../src/lib/util/json-diff.ts'
import { anyElements, anyScene, throughJson } from './any-scene.ts'

/** Applies changes one after the other, as a reader of the delta would. */
function apply(before: unknown, changes: readonly JsonChange[]): unknown {
  const root = { '': structuredClone(before) }
  for (const change of changes) {
    const names = change.path
      .split('/')
      .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = names.pop() ?? ''
    let holder: unknown = root
    for (const name of names) holder = Reflect.get(holder as object, name)
    if (Array.isArray(holder) && change.kind === 'added') {
      holder.splice(Number(last), 0, structuredClone(change.after))
    } else if (Array.isArray(holder) && change.kind === 'removed') {
      holder.splice(Number(last), 1)
    } else if (change.kind === 'removed') {
      Reflect.deleteProperty(holder as object, last)
    } else {
      Object.defineProperty(holder, last, {
        value: structuredClone(change.after),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
  }
  return root['']
}

describe('diffJson', () => {
  it('leads from any value to any other', () => {
    fc.assert(
      fc.property(
        fc.oneof(anyScene, fc.jsonValue()),
        fc.oneof(anyScene, fc.jsonValue()),
        (a, b) => {
          const [before, after] = [throughJson(a), throughJson(b)]
          const { changes, truncated } = diffJson(before, after, 1_000_000)
          expect(truncated).to.equal(false)
          expect(apply(before, changes)).to.deep.equal(after)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('leads from one order-keeping list of objects to another by its elements alone', () => {
    const ordered = anyElements.map(items => items.toSorted((a, b) => a.id - b.id))
    fc.assert(
      fc.property(ordered, ordered, (before, after) => {
        const { changes } = diffJson(before, after, 1_000_000)
        expect(apply(before, changes)).to.deep.equal(after)
        expect(changes.filter(change => change.path === '')).to.deep.equal([])
      }),
    )
  })

  const cases: [what: string, before: unknown, after: unknown, changes: readonly object[]][] = [
    ['nothing for equal values', { a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, []],
    ['nothing for another order of members', { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    ['an added member', {}, { a: 1 }, [{ path: '/a', kind: 'added', after: 1 }]],
    ['a removed member', { a: null }, {}, [{ path: '/a', kind: 'removed', before: null }]],
    [
      'a changed member',
      { a: 1 },
      { a: [1] },
      [{ path: '/a', kind: 'changed', before: 1, after: [1] }],
    ],
    [
      'a member whose name needs escapes',
      { 'a/~b': 1 },
      { 'a/~b': 2 },
      [{ path: '/a~1~0b', kind: 'changed', before: 1, after: 2 }],
    ],
    [
      'a position in arrays of one length',
      { layers: ['a', 'b'] },
      { layers: ['a', 'c'] },
      [{ path: '/layers/1', kind: 'changed', before: 'b', after: 'c' }],
    ],
    [
      'a vector of up to 16 numbers as one value, once',
      { range: [1, 250], same: [1, 2] },
      { range: [1, 300], same: [1, 2] },
      [{ path: '/range', kind: 'changed', before: [1, 250], after: [1, 300] }],
    ],
    [
      'the whole array when lengths differ',
      { selection: ['a'] },
      { selection: ['a', 'b'] },
      [{ path: '/selection', kind: 'changed', before: ['a'], after: ['a', 'b'] }],
    ],
    [
      'removals with old indices from the end, then the rest with new ones',
      [{ id: 1 }, { id: 2, x: 1 }, { id: 3 }],
      [{ id: 0 }, { id: 2, x: 2 }],
      [
        { path: '/2', kind: 'removed', before: { id: 3 } },
        { path: '/0', kind: 'removed', before: { id: 1 } },
        { path: '/0', kind: 'added', after: { id: 0 } },
        { path: '/1/x', kind: 'changed', before: 1, after: 2 },
      ],
    ],
    [
      'an emptied list of objects',
      [{ id: 1 }],
      [],
      [{ path: '/0', kind: 'removed', before: { id: 1 } }],
    ],
    [
      'the ids 1 and "1" as different',
      [{ id: 1 }],
      [{ id: '1' }],
      [
        { path: '/0', kind: 'removed', before: { id: 1 } },
        { path: '/0', kind: 'added', after: { id: '1' } },
      ],
    ],
    [
      'the positions of aligned objects that changed places',
      [{ id: 1 }, { id: 2 }],
      [{ id: 2 }, { id: 1 }],
      [
        { path: '/0/id', kind: 'changed', before: 1, after: 2 },
        { path: '/1/id', kind: 'changed', before: 2, after: 1 },
      ],
    ],
    [
      'the whole array when an id is repeated and lengths differ',
      [{ id: 1 }, { id: 1 }],
      [{ id: 1 }],
      [{ path: '', kind: 'changed', before: [{ id: 1 }, { id: 1 }], after: [{ id: 1 }] }],
    ],
  ]
  for (const [what, before, after, changes] of cases) {
    it(`names ${what}`, () => {
      expect(diffJson(before, after, 100).changes).to.deep.equal(changes)
    })
  }

  it('takes a member named __proto__ for a member', () => {
    const [before, after] = [JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":2}')]
    const changed = { path: '/__proto__', kind: 'changed', before: { a: 1 }, after: 2 }
    expect(diffJson(before, after, 9).changes).to.deep.equal([changed])
    expect(diffJson({}, after, 9).changes).to.deep.equal([
      { path: '/__proto__', kind: 'added', after: 2 },
    ])
  })

  it('says truncated only when a change was left out', () => {
    const after = { a: 1, b: 2, c: 3 }
    expect(diffJson({}, after, 3)).to.deep.include({ truncated: false })
    const cut = diffJson({}, after, 2)
    expect(cut.truncated).to.equal(true)
    expect(cut.changes.map(change => change.path)).to.deep.equal(['/a', '/b'])
  })

  it('reads each of 10,000 aligned objects a fixed number of times', () => {
    let reads = 0
    const count = 10_000
    const objects = (shift: number) =>
      Array.from({ length: count }, (_, at) =>
        Object.defineProperty({}, 'id', {
          enumerable: true,
          get: () => {
            reads++
            return at + shift
          },
        }),
      )
    const { changes } = diffJson(objects(0), objects(5000), count * 2)
    expect(changes).to.have.length(count)
    expect(reads).to.be.lessThan(count * 2 * 5)
  })
})
