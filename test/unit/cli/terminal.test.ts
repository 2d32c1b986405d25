import { expect } from 'chai'
import { type PromptTerminal, requireQuestioner } from '../../../src/lib/cli/prompt.ts'
import { describeTerminal } from '../../../src/lib/cli/terminal.ts'

describe('describeTerminal', () => {
  const cases: [isTTY: boolean, env: NodeJS.ProcessEnv, colour: boolean][] = [
    [true, {}, true],
    [true, { NO_COLOR: '' }, true],
    [true, { NO_COLOR: '1' }, false],
    [true, { TERM: 'dumb' }, false],
    [false, {}, false],
  ]
  for (const [isTTY, env, colour] of cases) {
    it(`${colour ? 'colours' : 'is plain'} with ${JSON.stringify({ isTTY, ...env })}`, () => {
      expect(describeTerminal(isTTY, env).colour).to.equal(colour)
    })
  }
})

describe('requireQuestioner', () => {
  const cases: [change: Partial<PromptTerminal>, why: string][] = [
    [{ stdinIsTTY: false }, 'stdin is not a terminal'],
    [{ stderrIsTTY: false }, 'stderr is not a terminal'],
    [{ noInput: true }, '--no-input is given'],
  ]
  for (const [change, why] of cases) {
    it(`names the other ways when ${why}`, () => {
      const terminal = { stdinIsTTY: true, stderrIsTTY: true, noInput: false, ...change }
      expect(() => requireQuestioner(terminal, 'the password', 'pipe it in'))
        .to.throw(`the password is missing, and ${why}`)
        .with.property('hint', 'pipe it in')
    })
  }
})
