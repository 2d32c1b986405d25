import { expect } from 'chai'
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
