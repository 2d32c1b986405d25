import { expect } from 'chai'
import fc from 'fast-check'
import { cleanLines } from '../../../src/lib/util/text.ts'
import { prettyJson } from '../../../src/lib/cli/pretty-json.ts'
import { valueText } from '../../../src/lib/cli/format.ts'
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

describe('valueText', () => {
  const rows: [value: unknown, most: number, text: string][] = [
    [1.5, 20, '1.5'],
    [null, 20, 'null'],
    ['a\nb', 20, '"a\\nb"'],
    ['\u001b[31mred\u202e', 40, '"\\u001b[31mred "'],
    [[1, 2, 3], 20, '[1, 2, 3]'],
    [{ id: 2, name: 'Lamp' }, 40, '{id: 2, name: "Lamp"}'],
    [{ 'a\u001b]0;x\u0007b': [] }, 40, '{ab: []}'],
    ['x'.repeat(100), 10, '"xxxxxxxx…'],
  ]
  for (const [value, most, text] of rows) {
    it(`is ${text} for ${JSON.stringify(value).slice(0, 30)}`, () => {
      expect(valueText(value, most)).to.equal(text)
    })
  }

  it('looks at no more of a large value than it shows', () => {
    const value = Array.from({ length: 1000 }, (_, at) => at)
    let seen = 0
    const watched = new Proxy(value, {
      get(target, name) {
        if (typeof name === 'string' && /^\d+$/.test(name)) seen++
        return Reflect.get(target, name)
      },
    })
    expect(valueText(watched, 20)).to.have.length(20)
    expect(seen).to.be.lessThan(20)
  })
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
