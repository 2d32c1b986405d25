import { expect } from 'chai'
import fc from 'fast-check'
import { getNodeValue } from 'jsonc-parser'
import { parseJsonText } from '../../../../src/lib/mcp/settings/parse-json-text.ts'

/** The value as plain JSON, or where the text goes wrong. */
function read(text: string, dialect: 'json' | 'jsonc' = 'jsonc'): unknown {
  const parsed = parseJsonText(text, dialect)
  if (parsed.ok) return JSON.parse(JSON.stringify(getNodeValue(parsed.value)))
  const { what, line, column } = parsed.failure
  return `${line}:${column} ${what}`
}

describe('parseJsonText', () => {
  const accepted: [text: string, value: unknown][] = [
    [' [1, -2.5e3, "x\\u0041\\"", true, false, null] ', [1, -2500, 'xA"', true, false, null]],
    ['// first\n{ /* in */ "a" /**/ : /**/ 1 // last\n}', { a: 1 }],
    ['{"a":[1,2,],}', { a: [1, 2] }],
    ['{"a":"// no comment, /* either */"}', { a: '// no comment, /* either */' }],
  ]
  for (const [text, value] of accepted) {
    it(`reads ${JSON.stringify(text)}`, () => {
      expect(read(text)).to.deep.equal(value)
    })
  }

  const refused: [text: string, where: string][] = [
    ['', '1:1 ends too early'],
    ['{"a":1', '1:7 has neither a comma nor }'],
    ['{"a" 1}', '1:6 has no colon after a name'],
    ['{\r\n  "a": nope\r\n}', '2:8 has an invalid value'],
    ['{"a":"x\n"}', '1:6 has an unterminated string'],
    ['{"a":1} {}', '1:9 has text after its end'],
    ['{"a":1 /* x }', '1:8 has an unterminated comment'],
    ['['.repeat(200), '1:129 nests deeper than 128 levels'],
  ]
  for (const [text, where] of refused) {
    it(`refuses ${JSON.stringify(text.slice(0, 30))}, and says where`, () => {
      expect(read(text)).to.equal(where)
    })
  }

  it('refuses comments and a last comma in plain JSON', () => {
    expect(read('{"a":1 // c\n}', 'json')).to.equal('1:8 has a comment, which JSON does not allow')
    expect(read('/* c */ {}', 'json')).to.equal('1:1 has a comment, which JSON does not allow')
    expect(read('{"a":1,}', 'json')).to.equal('1:7 has a trailing comma')
  })

  it('takes __proto__ for a name like any other', () => {
    const parsed = parseJsonText('{"__proto__":{"polluted":true}}', 'json')
    const value = parsed.ok ? (getNodeValue(parsed.value) as Record<string, unknown>) : {}
    expect(Object.keys(value)).to.deep.equal(['__proto__'])
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined)
  })

  it('agrees with JSON.parse on every JSON text, however it is indented', () => {
    fc.assert(
      fc.property(fc.json(), fc.integer({ min: 0, max: 4 }), (text, indent) => {
        const laidOut = JSON.stringify(JSON.parse(text), null, indent)
        expect(read(laidOut, 'json')).to.deep.equal(JSON.parse(laidOut))
      }),
    )
  })

  it('accepts and refuses the same random texts as JSON.parse', () => {
    const piece = fc.constantFrom(...'{}[]:,"\\1-e.')
    const words = fc.constantFrom(
      ' ',
      '\n',
      'true',
      'null',
      '0',
      '"a"',
      '"b"',
      '\t',
      '{"a":1}',
      '[1]',
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, words), { maxLength: 12 }), pieces => {
        const text = pieces.join('')
        const accepts = (parse: () => unknown) => {
          try {
            parse()
            return true
          } catch {
            return false
          }
        }
        expect(parseJsonText(text, 'json').ok).to.equal(accepts(() => JSON.parse(text)))
      }),
      { numRuns: 2000 },
    )
  })
})
