import { expect } from 'chai'
import fc from 'fast-check'
import { normaliseUri, parseResourceUri } from '../../../src/server/resources/resource-uri.ts'

const surrogates = { first: 0xd800, count: 0x800 }

/**
 * One code point, for `fc.string({ unit: codePoint })`. Draws what fast-check's `binary` does, whose
 * table of all code points costs every process seconds and 140 MB.
 */
const codePoint = fc.nat(0x10_ffff - surrogates.count).map(
  at => String.fromCodePoint(at < surrogates.first ? at : at + surrogates.count),
  // With the way back, fast-check draws words like `__proto__`, too.
  (text: unknown) => {
    const code = typeof text === 'string' ? (text.codePointAt(0) ?? NaN) : NaN
    if (text !== String.fromCodePoint(code)) throw new Error('not one code point')
    return code < surrogates.first ? code : code - surrogates.count
  },
)

const max = 2048

describe('parseResourceUri', () => {
  const accepted: [text: string, scheme: string, path: string, query: object][] = [
    ['scene://current', 'scene', 'current', {}],
    ['scene://', 'scene', '', {}],
    ['scene:current', 'scene', '', {}],
    ['scene://current#top', 'scene', '', {}],
    ['urn:isbn:12', 'urn', '', {}],
    ['audit://recent?limit=5', 'audit', 'recent', { limit: '5' }],
    ['audit://recent?limit', 'audit', 'recent', { limit: '' }],
    ['audit://recent?a=1&&b=2=3', 'audit', 'recent', { a: '1', b: '2=3' }],
    ['events://session/a%2Fb%20c', 'events', 'session/a/b c', {}],
    ['events://session/100%2525', 'events', 'session/100%25', {}],
    ['x-y.z+1://[::1]:80/a?q=/?', 'x-y.z+1', '[::1]:80/a', { q: '/?' }],
  ]
  for (const [text, scheme, path, query] of accepted) {
    it(`takes ${text}`, () => {
      const parsed = parseResourceUri(text)
      if (!parsed.ok) throw new Error(parsed.failure)
      expect(parsed.value).to.include({ text, scheme, path })
      expect(Object.fromEntries(parsed.value.query)).to.deep.equal(query)
    })
  }

  const refused: [why: string, text: unknown, message: RegExp][] = [
    ['missing', undefined, /must be a string/],
    ['a number', 5, /must be a string/],
    ['empty', '', /malformed/],
    ['without scheme', '//current', /malformed/],
    ['a scheme that starts with a digit', '1a://x', /malformed/],
    ['with a space', 'scene://a b', /malformed/],
    ['with a line break', 'scene://current\n', /malformed/],
    ['with a letter outside ASCII', 'scene://é', /malformed/],
    ['with a template expression', 'artefact://sha256/{hex}', /malformed/],
    ['with an escape of no digits', 'scene://a%zz', /malformed/],
    ['with an escape that is not UTF-8', 'scene://a%ff', /UTF-8/],
    ['with such an escape in the query', 'scene://a?b=%ff', /UTF-8/],
    ['with a repeated parameter', 'audit://recent?limit=1&limit=1', /repeated/],
    ['with one repeated in escapes', 'audit://recent?limit=1&%6Cimit=2', /repeated/],
    ['over-long', `scene://${'a'.repeat(max)}`, /at most 2048/],
  ]
  for (const [why, text, message] of refused) {
    it(`refuses a URI that is ${why}`, () => {
      const parsed = parseResourceUri(text)
      expect(parsed).to.include({ ok: false })
      if (!parsed.ok) expect(parsed.failure).to.match(message)
    })
  }

  it('takes exactly the longest URI', () => {
    expect(parseResourceUri(`x://${'a'.repeat(max - 4)}`).ok).to.equal(true)
    expect(parseResourceUri(`x://${'a'.repeat(max - 3)}`).ok).to.equal(false)
  })

  it('never throws, and never repeats a long URI in its failure', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 3000 }), text => {
        const parsed = parseResourceUri(text)
        if (!parsed.ok) expect(parsed.failure.length).to.be.lessThan(120)
      }),
    )
  })
})

describe('normaliseUri', () => {
  const cases: [text: string, normal: string][] = [
    ['scene://current', 'scene://current'],
    ['SCENE://current', 'scene://current'],
    ['scene://%63urrent', 'scene://current'],
    ['x://A%2fB?Q=%7e', 'x://A%2FB?Q=~'],
  ]
  for (const [text, normal] of cases) {
    it(`spells ${text} as ${normal}`, () => expect(normaliseUri(text)).to.equal(normal))
  }
})
