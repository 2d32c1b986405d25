import { expect } from 'chai'
import { SceneDemand } from '../../../src/server/resources/scene/demand.ts'
import { SceneState } from '../../../src/server/resources/scene/state.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'

const limits = { ...serverDefaults, maxMessageBytes: 1000 }

function nested(depth: number): object {
  let value: object = {}
  for (let level = 1; level < depth; level++) value = { a: value }
  return value
}

const refusedScenes: [why: string, scene: unknown, message: RegExp][] = [
  ['a function', () => {}, /must be a JSON object/],
  ['a Date', new Date(0), /must be a JSON object/],
  ['an object that turns into an array', { toJSON: () => [] }, /must be a JSON object/],
  ['an object that turns into nothing', { toJSON: () => undefined }, /must be a JSON object/],
  ['a bigint', { a: 1n }, /has no JSON form/],
  ['a hundred thousand levels', nested(100_000), /has no JSON form/],
  ['too many bytes', { a: 'é'.repeat(500) }, /bytes of JSON/],
]

const refusedTexts: [why: string, text: string, message: RegExp][] = [
  ['half a text', '{"a":', /not valid JSON/],
  ['an array', '[]', /must be a JSON object/],
  ['too many bytes', `{"a":"${'a'.repeat(1000)}"}`, /bytes of JSON/],
]

describe('SceneState', () => {
  const infinite: [what: string, text: string][] = [
    ['NaN', '{"a":NaN,"text":"NaN \\" -Infinity"}'],
    ['infinities', '{"a":[-Infinity,Infinity],"warnings":[{"code":"own"}]}'],
    ['a number too large', '{"a":1e999}'],
    ['a number too small', '{"a":[-1E+0400]}'],
    ['a number too long', `{"a":${'9'.repeat(310)}}`],
    ['a long number with an exponent', `{"a":1${'0'.repeat(210)}e99}`],
  ]
  for (const [what, text] of infinite) {
    it(`has null in place of ${what}, and a warning`, () => {
      const state = new SceneState(limits)
      state.setText(text)
      const { a, warnings, text: kept = 'NaN " -Infinity' } = JSON.parse(state.text ?? '')
      expect([a].flat().every(each => each === null)).to.equal(true)
      const count = [a].flat().length
      expect(warnings.at(-1)).to.deep.equal({ code: 'number_not_finite', count })
      expect(kept).to.equal('NaN " -Infinity')
    })
  }

  it('has null in place of the infinities of an object, and a warning', () => {
    const state = new SceneState(limits)
    state.set({ a: [{ b: -Infinity }, NaN] })
    const warnings = [{ code: 'number_not_finite', count: 2 }]
    expect(JSON.parse(state.text ?? '')).to.deep.equal({ a: [{ b: null }, null], warnings })
  })

  for (const [why, scene, message] of refusedScenes) {
    it(`refuses ${why} and keeps the old scene`, () => {
      let changes = 0
      const state = new SceneState(limits, () => changes++)
      state.set({ old: true })
      expect(() => state.set(scene as object)).to.throw(TypeError, message)
      expect([state.current.revision, state.text]).to.deep.equal([1, '{"old":true}'])
      expect(changes).to.equal(1)
    })
  }

  for (const [why, text, message] of refusedTexts) {
    it(`refuses the text of ${why} and keeps the old scene`, () => {
      const state = new SceneState(limits)
      state.set({ old: true })
      expect(() => state.setText(text)).to.throw(TypeError, message)
      expect([state.current.revision, state.text]).to.deep.equal([1, '{"old":true}'])
    })
  }

  it('was known at the time of the last event, also where the clock was set back', async () => {
    let nowMs = 9000
    let isAnswered = true
    const state = new SceneState(limits, () => {}, { now: () => nowMs })
    state.setApplication({ instanceId: 'run', connected: true, dccType: 'paint' })
    state.demand.supply({ refresh: async () => isAnswered, demand: () => {} })
    state.replaceText('{}', 'run')
    await state.refreshed()
    nowMs = 5000
    state.replaceText('{}', 'run')
    isAnswered = false
    await state.refreshed()
    expect(state.asOfMs).to.equal(5000)
  })

  it('keeps a text as it was written, and clears by the text null', () => {
    const state = new SceneState(limits)
    state.setText(' {"a" : 1}\n')
    expect(state.text).to.equal(' {"a" : 1}\n')
    expect(state.setText('null')).to.equal(2)
    expect(state.text).to.equal(null)
  })

  it('keeps the revisions that were current in the last ten minutes', () => {
    let nowMs = 0
    const state = new SceneState(serverDefaults, () => {}, { now: () => nowMs })
    for (let n = 0; n < 10; n++) {
      state.set({ n })
      nowMs += 4 * 60_000
    }
    const kept = [6, 7, 8, 9, 10, 11].map(revision => state.valueAt(revision)?.n)
    expect(kept).to.deep.equal([undefined, 6, 7, 8, 9, undefined])
  })

  it('keeps the last revisions by bytes, always the current one', () => {
    const state = new SceneState({ ...serverDefaults, maxSceneRevisionBytes: 30 })
    const kept = () => [1, 2, 3, 4, 5, 6, 7].filter(each => state.valueAt(each) !== undefined)
    for (let n = 0; n < 5; n++) state.set({ text: 'aaa' })
    expect(kept()).to.deep.equal([3, 4, 5])
    state.set({ text: 'a'.repeat(100) })
    expect(kept()).to.deep.equal([4, 5, 6])
    state.set({})
    expect(kept()).to.deep.equal([7])
  })
})

describe('SceneDemand', () => {
  it('asks once for all who come during a question, and never answers them with that one', async () => {
    const answers: ((isConfirmed: boolean) => void)[] = []
    const demand = new SceneDemand()
    demand.supply({
      refresh: () => new Promise(resolve => answers.push(resolve)),
      demand: () => {},
    })
    const first = demand.refresh()
    await Promise.resolve()
    const others = Array.from({ length: 20 }, () => demand.refresh())
    expect(answers).to.have.length(1)
    answers[0]?.(false)
    expect(await first).to.equal(false)
    await Promise.resolve()
    expect(answers).to.have.length(2)
    answers[1]?.(true)
    expect(new Set(await Promise.all(others))).to.deep.equal(new Set([true]))
    expect(answers).to.have.length(2)
  })
})
