import { expect } from 'chai'
import fc from 'fast-check'
import { exceedsDepth, memberText, parseJson } from '../../../src/lib/util/json.ts'

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

describe('parseJson', () => {
  it('refuses nesting beyond the limit and takes nesting at it', () => {
    const nested = (depth: number) => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)
    expect(parseJson(nested(64), 64).ok).to.equal(true)
    expect(parseJson('['.repeat(64) + ']'.repeat(64), 64).ok).to.equal(true)
    for (const text of [nested(5000), '['.repeat(65) + ']'.repeat(65)]) {
      expect(parseJson(text, 64)).to.deep.equal({ ok: false, failure: 'depth' })
    }
  })

  it('reports broken text as syntax', () => {
    for (const text of ['', '{"a":NaN}', '[1,]', '"unclosed']) {
      expect(parseJson(text, 64)).to.deep.equal({ ok: false, failure: 'syntax' })
    }
  })

  it('agrees with the real depth of any JSON, with quotes and brackets in its strings', () => {
    // Mostly what ends or begins something outside of a string.
    const stringUnit = fc.constantFrom('"', '\\', '[', '}', 'a')
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit }), fc.integer({ min: 0, max: 6 }), (value, limit) => {
        expect(exceedsDepth(JSON.stringify(value), limit)).to.equal(depthOf(value) > limit)
      }),
    )
  })
})

describe('memberText', () => {
  const cases: [json: string, text: string | undefined][] = [
    [' { "a" : 1.50 } ', '1.50'],
    ['{"a":12345678901234567890,"b":2}', '12345678901234567890'],
    ['{"b":{"a":2},"a":{"2":0,"1":0}}', '{"2":0,"1":0}'],
    ['{"b":"\\"a\\":3","a":"x\\\\"}', '"x\\\\"'],
    ['{"a":1,"a":null}', 'null'],
    ['{"\\u0061":true}', 'true'],
    ['{"b":1}', undefined],
  ]
  for (const [json, text] of cases) {
    it(`finds ${text} in ${json}`, () => expect(memberText(json, 'a')).to.equal(text))
  }

  it('finds in any object what parsing finds', () => {
    const spaces = fc.constantFrom(0, 1, '\t')
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), spaces, (object, space) => {
        const json = JSON.stringify(object, null, space)
        for (const [name, value] of Object.entries(JSON.parse(json) as object)) {
          expect(JSON.parse(memberText(json, name) ?? 'null')).to.deep.equal(value)
        }
      }),
    )
  })
})
