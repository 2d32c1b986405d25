import { expect } from 'chai'
import fc from 'fast-check'
import { digitsOf, numberOf, parseExact } from '../../../src/lib/util/exact-json.ts'

describe('JSON whose numbers keep their digits', () => {
  for (const text of [
    '{"x":1.0,"y":9007199254740993}',
    '[-0,0.10,1e3,1.5E-7,12.3456789012345678]',
    '{"name":"Cube.010","at":[0.25,-3]}',
  ]) {
    it(`writes ${text} as it was`, () => {
      expect(JSON.stringify(parseExact(text))).to.equal(text)
    })
  }

  it('writes any number as it was', () => {
    const part = fc.nat({ max: 999 }).map(String)
    const whole = fc.oneof(fc.constant('0'), part)
    const decimal = fc.tuple(fc.constantFrom('', '-'), whole, fc.nat({ max: 12 }), part)
    fc.assert(
      fc.property(decimal, ([sign, units, zeros, rest]) => {
        const text = `{"x":${sign}${units}.${'0'.repeat(zeros)}${rest}}`
        expect(JSON.stringify(parseExact(text))).to.equal(text)
      }),
    )
  })

  it('has plain numbers where their digits are kept', () => {
    expect(parseExact('[1,0.5,-2]')).to.deep.equal([1, 0.5, -2])
    expect((parseExact('[1.0]') as unknown[]).map(numberOf)).to.deep.equal([1])
  })

  const equal: [string, string, boolean][] = [
    ['1', '1.0', true],
    ['1000', '1e3', true],
    ['-0', '0', true],
    ['0.001', '1e-3', true],
    ['9007199254740993', '9007199254740992', false],
    ['1', '-1', false],
  ]
  for (const [one, other, same] of equal) {
    it(`${same ? 'finds' : 'does not find'} ${one} equal to ${other}`, () => {
      const [a, b] = [one, other].map(text => digitsOf(parseExact(text)))
      expect(a === b).to.equal(same)
    })
  }
})
