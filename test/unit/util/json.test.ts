import { expect } from 'chai'
import fc from 'fast-check'
import { exceedsDepth, parseJson } from '../../../src/lib/util/json.ts'

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
