import { expect } from 'chai'
import { escapePointer } from '../../../src/lib/util/json.ts'

describe('escapePointer', () => {
  for (const [name, escaped] of [
    ['plain', 'plain'],
    ['a/b~c', 'a~1b~0c'],
    ['~1', '~01'],
    ['', ''],
  ] as const) {
    it(`writes "${name}" as "${escaped}"`, () => expect(escapePointer(name)).to.equal(escaped))
  }
})
