import { expect } from 'chai'
import {
  type PromptTerminal,
  requireQuestioner,
  whyNoQuestions,
} from '../../../src/lib/cli/prompt.ts'

const terminal: PromptTerminal = { stdinIsTTY: true, stderrIsTTY: true, noInput: false }

describe('whyNoQuestions', () => {
  const cases: [change: Partial<PromptTerminal>, why: string | null][] = [
    [{}, null],
    [{ stdinIsTTY: false }, 'stdin is not a terminal'],
    [{ stderrIsTTY: false }, 'stderr is not a terminal'],
    [{ noInput: true }, '--no-input is given'],
  ]
  for (const [change, why] of cases) {
    it(`says ${why ?? 'nothing'} for ${JSON.stringify(change)}`, () => {
      expect(whyNoQuestions({ ...terminal, ...change })).to.equal(why)
    })
  }
})

describe('requireQuestioner', () => {
  it('names the other ways when nobody can be asked', () => {
    expect(() => requireQuestioner({ ...terminal, noInput: true }, 'the password', 'pipe it in'))
      .to.throw('the password is missing, and --no-input is given')
      .with.property('hint', 'pipe it in')
  })
})
