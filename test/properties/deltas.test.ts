import { expect } from 'chai'
import fc from 'fast-check'
import { deltaText, nothingFollowed } from '../../src/lib/mcp/change-words.ts'
import { payload, registry } from '../unit/resources/support.ts'
import { replay } from './replay.ts'

const parameters = replay<any>(Number(process.env.FUZZ_CASES ?? 100), 50_000)

/** The words about the step from one scene to another one. */
function wordsOf(before: object, after: object): string {
  const resources = registry()
  for (const scene of [before, after]) resources.setScene(scene)
  return deltaText(payload(resources, 'scene://delta'), null, Infinity)
}

const name = fc.string({ minLength: 1, maxLength: 6 })
const value = fc.oneof(fc.nat(9), fc.boolean(), name, fc.array(fc.nat(9), { maxLength: 3 }))
const members = fc.dictionary(fc.constantFrom('x', 'type', 'translate', 'data', 'tags'), value)

/** Lists of objects that each have an identity of their own, inside of each other. */
const { list } = fc.letrec<{ list: object[] }>(tie => ({
  list: fc
    .record({
      key: fc.constantFrom('id', 'uuid', 'name', 'uid'),
      items: fc.uniqueArray(
        fc.record({
          own: fc.oneof(fc.nat(99), name),
          members,
          children: fc.option(tie('list'), { depthSize: 'small', maxDepth: 3, nil: undefined }),
        }),
        { selector: ({ own }) => own, minLength: 1, maxLength: 5 },
      ),
    })
    .map(({ key, items }) =>
      items.map(({ own, members: facts, children }) => ({
        ...facts,
        [key]: own,
        ...(children !== undefined && { children }),
      })),
    ),
}))
const scene = fc.record({
  objects: list,
  nodes: list,
  grid: fc.array(fc.array(list, { maxLength: 2 }), { maxLength: 2 }),
  frame: fc.nat(9),
  document: fc.record({ path: name }),
})

/** All objects of the value that are in lists, and all lists of objects. */
function partsOf(value: unknown): { items: any[]; lists: any[][] } {
  const found = { items: [] as any[], lists: [] as any[][] }
  const visit = (each: unknown) => {
    if (Array.isArray(each) && each.length > 0 && each.every(one => one?.constructor === Object)) {
      found.lists.push(each)
      found.items.push(...each)
    }
    if (typeof each === 'object' && each !== null) Object.values(each).forEach(visit)
  }
  visit(value)
  return found
}

describe('the words about any two scenes', () => {
  it('tell nothing of another order of objects, in any list', () => {
    fc.assert(
      fc.property(
        scene,
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        (one, dice) => {
          const other = structuredClone(one)
          for (const objects of partsOf(other).lists) {
            const ranks = new Map(objects.map(each => [each, dice.next().value]))
            objects.sort((a, b) => ranks.get(a) - ranks.get(b))
          }
          expect(wordsOf(one, other)).to.contain(nothingFollowed)
        },
      ),
      parameters,
    )
  })

  const plants: Record<string, (item: any, list: any[], other: unknown) => void> = {
    'a member set': (item, _, other) => (item.planted = other),
    'a member changed': item => (item.x = `${JSON.stringify(item.x)}!`),
    'an object removed': (item, objects) => objects.splice(objects.indexOf(item), 1),
    'an object added': (_, objects, other) => objects.push({ id: 'planted', planted: other }),
    'an object replaced by a text': (item, objects) => (objects[objects.indexOf(item)] = 'text'),
    'a name changed': item => (item.name = `${JSON.stringify(item.name)}!`),
  }
  for (const [what, plant] of Object.entries(plants)) {
    it(`tell of ${what}, anywhere, beside another order`, () => {
      fc.assert(
        fc.property(scene, fc.nat(), fc.boolean(), value, (one, at, isReversed, other) => {
          const after = structuredClone(one)
          const { items, lists } = partsOf(after)
          const item = items[at % items.length]
          plant(
            item,
            lists.find(objects => objects.includes(item))!,
            other,
          )
          if (isReversed) lists.forEach(objects => objects.reverse())
          expect(wordsOf(one, after)).to.match(/: \d+ objects? or settings? changed\n- ./)
        }),
        parameters,
      )
    })
  }
})

const objectId = fc.constantFrom('a', 'b', 'c', 'd', 'e', '__proto__', 'ü"')
const memberName = fc.constantFrom('frame', 'selection', '__proto__', 'a/b')
const object = fc.record(
  {
    id: objectId,
    uid: fc.nat(6),
    name: fc.constantFrom('A', 'B', 'C'),
    x: fc.nat(3),
    tags: fc.array(objectId),
  },
  { requiredKeys: ['id'] },
)
const objects = fc.uniqueArray(object, { selector: each => each.id })
const whole = fc.record({ frame: fc.nat(5), objects })
/** What is left of a patch that contradicts itself is one that does not. */
const patch = fc
  .record({
    objects,
    removed: fc.uniqueArray(objectId),
    members: fc.dictionary(memberName, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }),
    unset: fc.uniqueArray(memberName),
  })
  .map(({ objects, removed, members, unset }) => ({
    objects,
    removed: removed.filter(each => !objects.some(object => object.id === each)),
    members: { ...members, always: 1 },
    unset: unset.filter(each => !Object.hasOwn(members, each)) as string[],
  }))
type Patch = typeof patch extends fc.Arbitrary<infer Value> ? Value : never

/** What a patch means, in the plainest way. */
function patched(scene: any, { objects, removed, members, unset }: Patch): any {
  const kept = scene.objects.filter((each: any) => !removed.includes(each.id))
  for (const object of objects) {
    const at = kept.findIndex((each: any) => each.id === object.id)
    if (at === -1) kept.push(object)
    else kept[at] = object
  }
  const others = Object.entries(scene).filter(([key]) => !unset.includes(key))
  return Object.fromEntries([...others, ...Object.entries(members), ['objects', kept]])
}

const json = (value: unknown) => JSON.parse(JSON.stringify(value))

describe('a scene that is patched', () => {
  it('has the deltas that it would have if it came whole each time', () => {
    const step = fc.oneof({ weight: 4, arbitrary: patch }, whole)
    fc.assert(
      fc.property(whole, fc.array(step, { maxLength: 8 }), (first, steps) => {
        const [resources, others] = [registry(), registry()]
        const scenes = [json(first)]
        resources.setScene(first)
        for (const next of steps) {
          scenes.push('removed' in next ? patched(scenes.at(-1), json(next)) : json(next))
          if ('removed' in next) resources.patchScene(next)
          else resources.setScene(next)
        }
        for (const scene of scenes) others.setScene(scene)
        expect(payload(resources, 'scene://current')).to.deep.equal(scenes.at(-1))
        for (const at of scenes.keys()) {
          const uri = `scene://delta?since=${at + 1}`
          const { run, ...found } = payload(resources, uri)
          const { run: _, ...expected } = payload(others, uri)
          expect(found).to.deep.equal(expected)
        }
      }),
      parameters,
    )
  })
})
