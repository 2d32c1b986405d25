import { expect } from 'chai'
import { fail, ok } from '../../../../src/lib/util/result.ts'
import { LinkRefusal } from '../../../../src/server/host/link/failures.ts'
import { SceneSlot } from '../../../../src/server/host/link/scene-slot.ts'

/** Scenes as they arrive, in words: which are taken, and what each is answered. */
function flushed(arrived: string[]): { taken: string[]; tried: string[]; answers: string[] } {
  const taken: string[] = []
  const tried: string[] = []
  const answers: string[] = []
  const slot = new SceneSlot(text => {
    tried.push(text)
    if (text.startsWith('bad')) return fail(new LinkRefusal('invalid', text))
    if (text.startsWith('broken')) return fail(new LinkRefusal('internal', text))
    return ok(taken.push(text) + 6)
  })
  for (const text of arrived) {
    slot.put(text, outcome => {
      if (!outcome.ok) answers.push(`${text}: ${outcome.failure.code}`)
      else answers.push(`${text}: ${outcome.value.revision} ${outcome.value.superseded}`)
    })
  }
  slot.flush()
  slot.flush()
  return { taken, tried, answers }
}

describe('SceneSlot', () => {
  const cases: [arrived: string[], taken: string[], answers: string[]][] = [
    [[], [], []],
    [['a'], ['a'], ['a: 7 false']],
    [['a', 'b', 'c'], ['c'], ['a: 7 true', 'b: 7 true', 'c: 7 false']],
    [['a', 'bad'], ['a'], ['a: 7 false', 'bad: invalid']],
    [['bad', 'a'], ['a'], ['bad: 7 true', 'a: 7 false']],
    [['a', 'b', 'bad'], ['b'], ['a: 7 true', 'b: 7 false', 'bad: invalid']],
    [['bad1', 'bad2'], [], ['bad1: invalid', 'bad2: invalid']],
    [['a', 'broken'], ['a'], ['a: 7 false', 'broken: internal']],
    [
      ['a', 'bad1', 'b', 'bad2'],
      ['b'],
      ['a: 7 true', 'bad1: 7 true', 'b: 7 false', 'bad2: invalid'],
    ],
  ]
  for (const [arrived, taken, answers] of cases) {
    it(`takes ${taken.join() || 'none'} of ${arrived.join() || 'none'}`, () => {
      const outcome = flushed(arrived)
      expect(outcome.taken).to.deep.equal(taken)
      expect(outcome.answers).to.deep.equal(answers)
    })
  }

  it('does not look at what is older than the one it took', () => {
    expect(flushed(['bad', 'a', 'b']).tried).to.deep.equal(['b'])
  })

  it('keeps what arrives while it answers for the next time', () => {
    const taken: string[] = []
    const slot = new SceneSlot(text => ok(taken.push(text)))
    slot.put('a', () => slot.put('b', () => {}))
    slot.flush()
    expect(taken).to.deep.equal(['a'])
    slot.flush()
    expect(taken).to.deep.equal(['a', 'b'])
  })
})
