import { expect } from 'chai'
import { checkOutput } from '../../../src/commands/adapter/output.ts'

describe('where an adapter may be written to', () => {
  const cases: [
    words: string,
    out: string | undefined,
    json: boolean,
    binary: boolean,
    terminal: boolean,
    refusal: string | null,
  ][] = [
    ['a file, from a terminal', 'a.zip', false, true, true, null],
    ['the default file', undefined, true, true, true, null],
    ['a pipe', '-', false, true, false, null],
    ['text on a terminal', '-', false, false, true, null],
    ['a zip on a terminal', '-', false, true, true, 'would fill the terminal'],
    ['stdout beside --json', '-', true, true, false, 'both want stdout'],
    ['text on stdout beside --json', '-', true, false, false, 'both want stdout'],
    ['an empty name', '', false, true, false, '--out is empty'],
  ]
  for (const [words, out, json, binary, terminal, refusal] of cases) {
    it(`${refusal === null ? 'takes' : 'refuses'} ${words}`, () => {
      const check = () => checkOutput({ out, json }, { binary, terminal })
      if (refusal === null) check()
      else expect(check).to.throw(refusal).with.property('code', 'usage_invalid')
    })
  }
})
