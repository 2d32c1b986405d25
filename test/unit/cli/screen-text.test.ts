import { expect } from 'chai'
import fc from 'fast-check'
import { cleanLines } from '../../../src/lib/util/text.ts'
import { prettyJson } from '../../../src/lib/cli/pretty-json.ts'
import { sizeText } from '../../../src/lib/util/amounts.ts'

describe('sizeText', () => {
  const rows: [number, string][] = [
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [9_949, '9.9 kB'],
    [9_960, '10 kB'],
    [999_499, '999 kB'],
    [999_600, '1.0 MB'],
    [300_000_000, '300 MB'],
    [2 ** 53, '9.0 PB'],
  ]
  for (const [bytes, text] of rows) {
    it(`is ${text} for ${bytes}`, () => expect(sizeText(bytes)).to.equal(text))
  }
})

describe('prettyJson', () => {
  it('keeps numbers, strings and order as they were written', () => {
    const text =
      '{"b":1.50,"10":12345678901234567890,"a":["{ , : }","\\"[",{"x":[0.0,1e5]}],"e":{}}'
    expect(prettyJson(text)).to.equal(
      [
        '{',
        '  "b": 1.50,',
        '  "10": 12345678901234567890,',
        '  "a": [',
        '    "{ , : }",',
        '    "\\"[",',
        '    {',
        '      "x": [0.0, 1e5]',
        '    }',
        '  ],',
        '  "e": {}',
        '}',
      ].join('\n'),
    )
  })

  it('says the same as before', () => {
    fc.assert(
      fc.property(fc.json(), text => {
        expect(JSON.parse(prettyJson(text))).to.deep.equal(JSON.parse(text))
      }),
    )
  })
})

describe('cleanLines', () => {
  it('keeps lines, tabs and spaces, and nothing that moves the cursor', () => {
    const text = 'a  b\tc\r\nd\u001b[2J\u001b]0;title\u0007e\rf\u202eg\n'
    expect(cleanLines(text)).to.equal('a  b\tc\ndefg\n')
  })
})
