import { expect } from 'chai'
import fc from 'fast-check'
import { findFault } from '../../../src/lib/util/json-fault.ts'

/** Where the text goes wrong; null for a valid one. */
function faultOf(text: string, dialect: 'json' | 'jsonc'): string | null {
  const fault = findFault(text, dialect)
  return fault && `${fault.line}:${fault.column} ${fault.what}`
}

describe('findFault', () => {
  const rows: [text: string, where: string | null][] = [
    ['// first\n{ /* in */ "a" /**/ : /**/ [1,2,], // last\n}', null],
    ['', '1:1 unexpected end'],
    ['{"a":1', '1:7 unexpected end'],
    ['{"a" 1}', '1:6 colon expected'],
    ['{a: 1}', '1:2 invalid symbol'],
    ['{\r\n  "a": nope\r\n}', '2:8 invalid symbol'],
    ['{"a":"x\n"}', '1:6 unexpected end of string'],
    ['{"a":1} {}', '1:9 end of file expected'],
    ['{"a":1 /* x }', '1:8 unexpected end of comment'],
  ]
  for (const [text, where] of rows) {
    it(`says of ${JSON.stringify(text)}: ${where}`, () => {
      expect(faultOf(text, 'jsonc')).to.equal(where)
    })
  }

  it('refuses comments and a last comma in plain JSON', () => {
    const comment = 'invalid comment token'
    expect(faultOf('{"a":1 // c\n}', 'json')).to.equal(`1:8 ${comment}`)
    expect(faultOf('/* c */ {}', 'json')).to.equal(`1:1 ${comment}`)
    expect(faultOf('{"a":1,}', 'json')).to.equal('1:8 trailing comma')
  })

  it('accepts and refuses the same random texts as JSON.parse', () => {
    const words = [' ', '\n', 'true', 'null', '0', '"a"', '"b"', '\t', '{"a":1}', '[1]']
    const piece = fc.constantFrom(...'{}[]:,"\\1-e.', ...words)
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
        const text = pieces.join('')
        let isValid = true
        try {
          JSON.parse(text)
        } catch {
          isValid = false
        }
        expect(findFault(text, 'json') === null).to.equal(isValid)
      }),
      { numRuns: 2000 },
    )
  })
})
