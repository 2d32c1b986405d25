import { expect } from 'chai'
import { setImmediate as turn } from 'node:timers/promises'
import { systemTimer } from '../../../src/lib/util/time.ts'
import { compareScenes } from '../../../src/server/checkpoints/compare-scenes.ts'
import { SceneComparer } from '../../../src/server/checkpoints/scene-comparer.ts'

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

describe('SceneComparer', () => {
  const comparer = new SceneComparer(systemTimer)
  after(() => comparer.close())

  const options = { maxChanges: 100, targets: ['Prop.1'] }
  const moved = { 1: { translate: [9, 0, 0] }, 3: { parent: 'Prop.1' }, 5: { visible: true } }

  for (const [about, count] of [
    ['small', 10],
    ['large', 20_000],
  ] as const) {
    it(`finds what changed in ${about} scenes, and what belongs to the targets`, async () => {
      const { changes, ofTargets, truncated } = await comparer.compare({
        base: scene(count),
        current: scene(count, moved),
        ...options,
      })
      expect(changes.map(({ path }) => path)).to.deep.equal([
        '/objects/1/translate',
        '/objects/3/parent',
        '/objects/5/visible',
      ])
      expect(ofTargets).to.deep.equal([true, true, false])
      expect(truncated).to.equal(false)
    })
  }

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

  it('says why a scene cannot be compared', async () => {
    const broken = `${scene(20_000)}{`
    const refused = await comparer
      .compare({ base: scene(20_000), current: broken, ...options })
      .then(String, String)
    expect(refused).to.contain('JSON')
  })
})
