import { expect } from 'chai'
import { setImmediate as turn } from 'node:timers/promises'
import { describeChanges } from '../../../src/lib/mcp/change-words.ts'
import { compareScenes, type SceneTarget } from '../../../src/server/checkpoints/compare-scenes.ts'
import { Checkpoints } from '../../../src/server/checkpoints/checkpoints.ts'
import { DocumentFolder } from '../../../src/server/checkpoints/document-folder.ts'

/** Of about 100 bytes for each object. */
function scene(count: number, changes: Record<number, object> = {}): string {
  const objects = Array.from({ length: count }, (_, at) => ({
    id: `Prop.${at}`,
    name: `Prop.${at}`,
    type: 'mesh',
    parent: null,
    translate: [at, 0, 0],
    scale: [1, 1, 1],
    ...changes[at],
  }))
  return JSON.stringify({ captured_at: count + Object.keys(changes).length, objects })
}

describe('the comparison of scenes', () => {
  const comparer = new Checkpoints({
    document: () => new DocumentFolder('/nowhere'),
    scene: async () => ({ revision: 1, text: null, unconfirmed: {} }),
  })
  after(() => comparer.close())

  const options = { maxChanges: 100, targets: [{ id: 'Prop.1', name: 'Prop.1' }] }
  const moved = { 1: { translate: [9, 0, 0] }, 3: { parent: 'Prop.1' }, 5: { visible: true } }

  it('finds what changed, and what belongs to the targets', async () => {
    const compared = { base: scene(10), current: scene(10, moved), ...options }
    const { changes, ofTargets, truncated } = await comparer.compare(compared)
    expect(changes.map(({ path }) => path)).to.deep.equal([
      '/objects/1/translate',
      '/objects/3/parent',
      '/objects/5/visible',
    ])
    expect(ofTargets).to.equal(2)
    expect(truncated).to.equal(false)
  })

  it('lets the server go on while it compares large scenes', async () => {
    const compared = { base: scene(20_000), current: scene(20_000, moved), ...options }
    let isDone = false
    const comparing = comparer.compare(compared).finally(() => (isDone = true))
    let turns = 0
    while (!isDone) {
      await turn()
      turns++
    }
    expect(turns).to.be.above(3)
    expect(await comparing).to.deep.equal(compareScenes(compared))
  })

  it('compares objects whose ids and parents are no texts', async () => {
    const hostile = { toString: 0, valueOf: 0 }
    const current = scene(10, { 2: { id: hostile, parent: hostile }, 3: { visible: false } })
    const { changes } = await comparer.compare({ base: scene(10), current, ...options })
    expect(changes.map(({ path }) => path)).to.include('/objects/3/visible')
  })

  describe('tells of the objects of a note', () => {
    const a = { id: 'A', name: 'A' }
    const b = { id: 'B', name: 'B' }
    /** Lines of the objects of a note about A, and what A is called now. */
    const told = (base: object[], current: object[], target: SceneTarget = a, more = [{}, {}]) => {
      const [old, since] = [base, current].map((objects, at) => ({ objects, ...more[at] }))
      const {
        changes,
        ofTargets,
        truncated,
        now: objects,
      } = compareScenes({
        base: JSON.stringify(old),
        current: JSON.stringify(since),
        targets: [target],
        maxChanges: 1000,
      })
      const lines = (isAsked: boolean) =>
        describeChanges(changes, (_, at) => at < ofTargets === isAsked)
      return { asked: lines(true), also: lines(false), now: objects[0], truncated }
    }
    const many = (moved: number) =>
      Array.from({ length: 1500 }, (_, at) => ({ id: `n${at}`, name: `n${at}`, x: moved }))

    it('though a thousand others changed before them', () => {
      const { asked, truncated } = told(many(0), many(1), { id: 'n1400', name: 'n1400' })
      expect({ asked, truncated }).to.deep.equal({ asked: ['n1400 x 0 → 1'], truncated: true })
    })

    it('and of no other one that has their name now', () => {
      const target = { ...a, uid: 'r.1' }
      const old = [
        { ...a, uid: 'r.1' },
        { ...b, uid: 'r.2', x: 2 },
      ]
      const renamed = told(old, [{ ...a, uid: 'r.2', x: 5 }], target)
      expect(renamed.asked).to.deep.equal(['A removed'])
      expect(renamed.now).to.equal(null)
      const again = told(old, [{ ...a, uid: 'r.3', x: 9 }, old[1]!], target)
      expect(again.asked.join())
        .to.match(/^A removed/)
        .and.not.to.include('x ')
      expect(told(old, [{ ...a, uid: 's.1', x: 9 }], target).asked).to.deep.equal(['A x set to 9'])
    })

    it('with their children, in each of the scenes', () => {
      const uids = [{ uid: 'r.1' }, { uid: 'r.2' }, { uid: 'r.3' }] as const
      const child = (parent: string, x: number) => ({ id: 'C', name: 'C', parent, x, ...uids[2] })
      const swapped = told(
        [{ ...a, ...uids[0] }, { ...b, ...uids[1] }, child('B', 1)],
        [{ ...b, ...uids[0] }, { ...a, ...uids[1] }, child('A', 2)],
        { ...a, uid: 'r.1' },
      )
      expect(swapped.asked.join()).not.to.include('C')
      expect(swapped.also.join()).to.include('x 1 → 2')
      expect(swapped.now).to.include({ id: 'B', name: 'B' })
      const hero = { id: 'H', name: 'H', ...uids[0] }
      const left = told([{ ...a, ...uids[0] }, child('A', 1)], [hero], { ...a, uid: 'r.1' })
      expect(left.asked).to.have.members(['A renamed H', 'C removed'])
    })

    it('that have a name alone, and of materials that do', () => {
      const named = (x: number) => [{ name: 'A', x, materials: ['Red'] }, { name: 'B' }]
      const materials = (rough: number) => ({
        materials: [{ name: 'Red', rough }, { name: 'Blue' }],
      })
      const { asked, also } = told(named(1), named(2), a, [materials(0), materials(1)])
      expect(asked).to.have.members(['A x 1 → 2', 'materials: Red rough 0 → 1'])
      expect(also).to.deep.equal([])
    })

    it('whose id is another one now', () => {
      const cube = { id: '4', name: 'Cube' }
      const { asked, now } = told(
        [{ ...cube, x: 1 }, b],
        [{ id: '9', name: 'Cube', x: 2 }, b],
        cube,
      )
      expect(asked.join()).to.include('x 1 → 2')
      expect(now).to.deep.equal({ id: '9', name: 'Cube' })
    })
  })

  it('says why a scene cannot be compared', async () => {
    const broken = `${scene(20_000)}{`
    const refused = await comparer
      .compare({ base: scene(20_000), current: broken, ...options })
      .then(String, String)
    expect(refused).to.contain('JSON')
  })
})
