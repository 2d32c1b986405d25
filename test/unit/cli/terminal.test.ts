import { expect } from 'chai'
import { mayShowProgress } from '../../../src/lib/cli/progress.ts'
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

describe('mayShowProgress', () => {
  const person = { json: false, quiet: false }
  const cases: [may: boolean, facts: Parameters<typeof mayShowProgress>][] = [
    [true, [person, { isTTY: true }, { TERM: 'xterm' }]],
    [false, [person, {}, {}]],
    [false, [{ ...person, quiet: true }, { isTTY: true }, {}]],
    [false, [{ ...person, json: true }, { isTTY: true }, {}]],
    [false, [person, { isTTY: true }, { TERM: 'dumb' }]],
  ]
  for (const [may, facts] of cases) {
    it(`is ${may} for ${JSON.stringify(facts)}`, () => {
      expect(mayShowProgress(...facts)).to.equal(may)
    })
  }
})
