import { expect } from 'chai'
import { parseExact } from '../../../src/lib/util/exact-json.ts'
import { diffJson } from '../../../src/lib/mcp/json-diff.ts'

const changesOf = (before: unknown, after: unknown) =>
  diffJson(before, after, { maxChanges: 100 }).changes

/** Kind and path of each change, then its values as JSON. */
const brief = (before: unknown, after: unknown) =>
  changesOf(before, after).map(({ kind, path, ...change }) => {
    const names = ['before', 'after'] as const
    const values = names.filter(name => name in change).map(name => JSON.stringify(change[name]))
    return [kind, path, ...values].join(' ')
  })

describe('diffJson', () => {
  // What it names, both values and the changes.
  const cases: [what: string, before: string, after: string, ...changes: string[]][] = [
    ['nothing for equal values', '{"a":[1,{"b":2}]}', '{"a":[1,{"b":2}]}'],
    ['nothing for another order of members', '{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['an added member', '{}', '{"a":1}', 'added /a 1'],
    ['a removed member', '{"a":null}', '{}', 'removed /a null'],
    ['a changed member', '{"a":1}', '{"a":[1]}', 'changed /a 1 [1]'],
    ['a name that needs escapes', '{"a/~b":1}', '{"a/~b":2}', 'changed /a~1~0b 1 2'],
    [
      'a list of texts as one value',
      '{"a":["x","y"]}',
      '{"a":["x"]}',
      'changed /a ["x","y"] ["x"]',
    ],
    [
      'a position in other lists',
      '{"a":[[1],null,"x"]}',
      '{"a":[[1],2,"x"]}',
      'changed /a/1 null 2',
    ],
    [
      'the whole list of another length',
      '{"a":["x",1]}',
      '{"a":["x"]}',
      'changed /a ["x",1] ["x"]',
    ],
    ['each object of a new list', '{}', '{"a":[{"x":1}]}', 'added /a/0 {"x":1}'],
    [
      'what was added, removed and changed, with places of the list in which each is',
      '[{"id":1},{"id":2,"x":1},{"id":3}]',
      '[{"id":0},{"id":2,"x":2}]',
      'removed /0 {"id":1}',
      'removed /2 {"id":3}',
      'added /0 {"id":0}',
      'changed /1/x 1 2',
    ],
    [
      'another id of what has the same name alone',
      '[{"id":4,"name":"Cube","x":1}]',
      '[{"id":9,"name":"Cube","x":2}]',
      'changed /0/id 4 9',
      'changed /0/x 1 2',
    ],
    [
      'no other id where several have the name',
      '[{"id":4,"name":"Cube"},{"id":5,"name":"Cube"}]',
      '[{"id":9,"name":"Cube"},{"id":5,"name":"Cube"}]',
      'removed /0 {"id":4,"name":"Cube"}',
      'added /0 {"id":9,"name":"Cube"}',
    ],
    [
      'another id of what has the same uid, whatever has its id now',
      '[{"uid":7,"id":"A","x":1},{"uid":8,"id":"B","x":2}]',
      '[{"uid":8,"id":"A","x":3}]',
      'removed /0 {"uid":7,"id":"A","x":1}',
      'changed /0/id "B" "A"',
      'changed /0/x 2 3',
    ],
    [
      'another object under the name of one that was deleted in the same run',
      '[{"id":"A","uid":"r.1"},{"id":"B","uid":"r.2"}]',
      '[{"id":"A","uid":"r.3"},{"id":"B","uid":"r.2"}]',
      'removed /0 {"id":"A","uid":"r.1"}',
      'added /0 {"id":"A","uid":"r.3"}',
    ],
    [
      'no other uids: another run of the application',
      '[{"id":"A","uid":"r.1","x":1},{"id":"B","uid":"r.2","x":1}]',
      '[{"id":"A","uid":"s.7","x":1},{"id":"B","uid":"s.8","x":2}]',
      'changed /1/x 1 2',
    ],
    [
      'no other id where another object has the uuid',
      '[{"id":1,"uuid":"u"},{"id":2,"uuid":"u"}]',
      '[{"id":1,"uuid":"u"},{"id":3,"uuid":"u"}]',
      'removed /1 {"id":2,"uuid":"u"}',
      'added /1 {"id":3,"uuid":"u"}',
    ],
  ]
  for (const [what, before, after, ...changes] of cases) {
    it(`names ${what}`, () => {
      expect(brief(JSON.parse(before), JSON.parse(after))).to.deep.equal(changes)
    })
  }

  for (const key of ['id', 'uuid', 'name', 'uid']) {
    it(`matches objects by ${key} at any depth, in any order`, () => {
      for (const [one, other] of [
        ['a', 'b'],
        [1, 2],
      ]) {
        const a = { [key]: one, x: 1 }
        const b = { [key]: other, x: 2 }
        const deep = (...nodes: object[]) => ({ a: [[{ children: nodes }]] })
        expect(changesOf(deep(a, b), deep(b, a))).to.deep.equal([])
        const changed = brief(deep(a, b), deep(b, { ...a, x: 5 }))
        expect(changed).to.deep.equal(['changed /a/0/0/children/1/x 1 5'])
      }
    })
  }

  it('matches by uuid where ids are not unique, and by name where neither is there', () => {
    const objects = [
      { id: 0, uuid: 'a', x: 1 },
      { id: 0, uuid: 'b', x: 2 },
      { name: 'c', x: 3 },
      { name: 'd', x: 4 },
    ]
    expect(changesOf(objects, objects.toReversed())).to.deep.equal([])
  })

  it('compares objects without identity, and those with one, by their places, and says so', () => {
    const [one, two] = [
      [{ x: 1 }, { id: 1, x: 1 }, { id: 1, x: 2 }],
      [{ x: 2 }, { id: 1, x: 3 }, { id: 1, x: 2 }],
    ]
    const by = { matched: 'position' }
    expect(changesOf(one, two)).to.deep.equal([
      { path: '/0/x', kind: 'changed', before: 1, after: 2, ...by },
      { path: '/1/x', kind: 'changed', before: 1, after: 3, id: 1, member: ['x'], ...by },
    ])
  })

  it('names the object in a list that a change is in, and the way from there', () => {
    const scene = (w: number) => ({
      objects: [
        { id: 1, name: 'A', at: { x: w }, modifiers: [{ name: 'Bevel', w }, { w }] },
        { name: 'Group', children: [{ uuid: 'u', w }] },
      ],
    })
    expect(
      changesOf(scene(1), scene(2)).map(({ before: _, after: __, ...rest }) => rest),
    ).to.deep.equal([
      { path: '/objects/0/at/x', kind: 'changed', id: 1, name: 'A' },
      {
        path: '/objects/0/modifiers/0/w',
        kind: 'changed',
        id: 1,
        name: 'A',
        member: ['modifiers', 'Bevel', 'w'],
      },
      { path: '/objects/0/modifiers/1/w', kind: 'changed', id: 1, name: 'A', matched: 'position' },
      { path: '/objects/1/children/0/w', kind: 'changed', id: 'u', member: ['w'] },
    ])
  })

  it('compares numbers by their digits', () => {
    const differ = (before: string, after: string) =>
      changesOf(parseExact(before), parseExact(after)).length > 0
    expect(differ('[{"id":1.0,"x":1e3}]', '[{"id":1,"x":1000.0}]')).to.equal(false)
    expect(differ('[1.0,2.0]', '[1,2]')).to.equal(false)
    expect(differ('{"x":9007199254740993}', '{"x":9007199254740992}')).to.equal(true)
    const ids = ['9007199254740993', '9007199254740992'].map(id => `{"id":${id},"x":1}`)
    expect(differ(`[${ids.join()}]`, `[${ids.toReversed().join()}]`)).to.equal(false)
    expect(JSON.stringify(changesOf({ x: 0 }, parseExact('{"x":9007199254740993.50}')))).to.contain(
      '"after":9007199254740993.50',
    )
  })

  it('takes a member named __proto__ for a member', () => {
    const [before, after] = [JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":2}')]
    expect(brief(before, after)).to.deep.equal(['changed /__proto__ {"a":1} 2'])
    expect(brief({}, after)).to.deep.equal(['added /__proto__ 2'])
  })

  it('reads each of 10,000 objects a fixed number of times', () => {
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
    const { changes } = diffJson(objects(0), objects(5000), { maxChanges: count * 2 })
    expect(changes).to.have.length(count)
    expect(reads).to.be.lessThan(count * 2 * 12)
  })
})
