import { expect } from 'chai'
import {
  parseResources,
  parseScheme,
  parseTemplates,
} from '../../../../src/server/host/link/parse-offer.ts'

const limits = { maxLinkResources: 3, maxUriChars: 40 }
const cube = { uri: 'app://Cube', name: 'Cube' }

describe('parseScheme', () => {
  for (const scheme of ['app', 'blender-object', 'a', 'a+b.c-1']) {
    it(`takes ${scheme}`, () => {
      expect(parseScheme(scheme)).to.deep.equal({ ok: true, value: scheme })
    })
  }
  for (const scheme of ['', 'App', '1a', 'a_b', 'a://', 'a'.repeat(65), undefined, null, 5, {}]) {
    it(`refuses ${JSON.stringify(scheme)?.slice(0, 12)}`, () => {
      const parsed = parseScheme(scheme)
      expect(!parsed.ok && parsed.failure.code).to.equal('invalid')
      expect(!parsed.ok && parsed.failure.message).to.match(/^\/scheme must be/)
    })
  }
})

describe('parseResources', () => {
  const whole = {
    ...cube,
    title: 'The cube',
    description: 'One object',
    mimeType: 'application/json',
    size: 12,
  }
  const good: [what: string, value: unknown, expected: unknown][] = [
    ['no entries', [], []],
    ['all members', [whole], [whole]],
    ['null for what is absent', [{ ...cube, title: null, size: null }], [cube]],
    ['a scheme in upper case', [{ ...cube, uri: 'APP://Cube' }], [{ ...cube, uri: 'APP://Cube' }]],
    ['the first of two with one URI', [cube, { ...cube, name: 'Other' }], [cube]],
  ]
  for (const [what, value, expected] of good) {
    it(`takes ${what}`, () => {
      expect(parseResources(value, 'app', limits)).to.deep.equal({ ok: true, value: expected })
    })
  }

  it('freezes the list and its entries', () => {
    const parsed = parseResources([{ ...cube }], 'app', limits)
    const list = parsed.ok ? parsed.value : []
    expect(list).to.have.length(1)
    expect(Object.isFrozen(list) && list.every(Object.isFrozen)).to.equal(true)
  })

  const wrong: [value: unknown, code: string, message: RegExp][] = [
    [undefined, 'invalid', /^\/resources must be an array$/],
    [{}, 'invalid', /^\/resources must be an array$/],
    ['x', 'invalid', /^\/resources must be an array$/],
    [[cube, null], 'invalid', /^\/resources\/1 must be an object$/],
    [[[]], 'invalid', /^\/resources\/0 must be an object$/],
    [[{ name: 'a' }], 'invalid', /^\/resources\/0\/uri is missing$/],
    [[{ ...cube, uri: 5 }], 'invalid', /^\/resources\/0\/uri must be a string$/],
    [[{ ...cube, uri: 'app://a b' }], 'invalid', /^\/resources\/0\/uri is malformed: /],
    [[{ ...cube, uri: 'other://a' }], 'invalid', /^\/resources\/0\/uri must begin with app:$/],
    [[{ ...cube, uri: `app://${'a'.repeat(40)}` }], 'invalid', /^\/resources\/0\/uri must have at/],
    [[{ uri: 'app://a' }], 'invalid', /^\/resources\/0\/name is required$/],
    [[{ ...cube, name: 'a'.repeat(41) }], 'invalid', /^\/resources\/0\/name must not be longer/],
    [[{ ...cube, title: 5 }], 'invalid', /^\/resources\/0\/title must be a string$/],
    [[{ ...cube, description: 'a'.repeat(41) }], 'invalid', /^\/resources\/0\/description must/],
    [[{ ...cube, mimeType: [] }], 'invalid', /^\/resources\/0\/mimeType must be a string$/],
    [[{ ...cube, size: -1 }], 'invalid', /^\/resources\/0\/size must be/],
    [[{ ...cube, size: 1.5 }], 'invalid', /^\/resources\/0\/size must be/],
    [[{ ...cube, mimetype: 'x' }], 'invalid', /^\/resources\/0\/mimetype is not known here$/],
    [[{ ...cube, _meta: {} }], 'invalid', /^\/resources\/0\/_meta is not known here$/],
    [[cube, cube, cube, cube], 'limit', /^\/resources must not have more than 3 entries/],
  ]
  for (const [value, code, message] of wrong) {
    it(`refuses ${JSON.stringify(value)?.slice(0, 60)}: ${message.source}`, () => {
      const parsed = parseResources(value, 'app', limits)
      expect(!parsed.ok && parsed.failure.code).to.equal(code)
      expect(!parsed.ok && parsed.failure.message).to.match(message)
    })
  }
})

describe('parseTemplates', () => {
  const one = { uriTemplate: 'app://{name}', name: 'One' }

  it('takes all members, and freezes', () => {
    const whole = { ...one, title: 'T', description: 'D', mimeType: 'text/plain' }
    const parsed = parseTemplates([whole], 'app', limits)
    expect(parsed).to.deep.equal({ ok: true, value: [whole] })
    expect(parsed.ok && Object.isFrozen(parsed.value[0])).to.equal(true)
  })

  const wrong: [value: unknown, code: string, message: RegExp][] = [
    [{}, 'invalid', /^\/templates must be an array$/],
    [[{ name: 'a' }], 'invalid', /^\/templates\/0\/uriTemplate is required$/],
    [[{ ...one, uriTemplate: 5 }], 'invalid', /^\/templates\/0\/uriTemplate must be a string$/],
    [
      [{ ...one, uriTemplate: 'apple://{x}' }],
      'invalid',
      /^\/templates\/0\/uriTemplate must begin/,
    ],
    [[{ ...one, uri: 'app://a' }], 'invalid', /^\/templates\/0\/uri is not known here$/],
    [[one, { uriTemplate: 'app://{a}' }], 'invalid', /^\/templates\/1\/name is required$/],
    [[one, one, one, one], 'limit', /^\/templates must not have more than 3 entries/],
  ]
  for (const [value, code, message] of wrong) {
    it(`refuses ${JSON.stringify(value).slice(0, 60)}: ${message.source}`, () => {
      const parsed = parseTemplates(value, 'app', limits)
      expect(!parsed.ok && parsed.failure.code).to.equal(code)
      expect(!parsed.ok && parsed.failure.message).to.match(message)
    })
  }
})
