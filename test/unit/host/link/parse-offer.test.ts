import { expect } from 'chai'
import {
  parseResources,
  parseScheme,
  parseTemplates,
} from '../../../../src/server/host/link/parse-offer.ts'

const limits = { maxLinkResources: 3 }
const cube = { uri: 'app://Cube', name: 'Cube' }

describe('parseScheme', () => {
  it('takes schemes in lower case, and nothing else', () => {
    for (const scheme of ['blender-object', 'a', 'a+b.c-1']) {
      expect(parseScheme(scheme)).to.deep.equal({ ok: true, value: scheme })
    }
    for (const scheme of ['', 'App', '1a', 'a_b', 'a://', 'a'.repeat(65), undefined, 5]) {
      const parsed = parseScheme(scheme)
      expect(!parsed.ok && parsed.failure.code, String(scheme)).to.equal('invalid')
      expect(!parsed.ok && parsed.failure.message).to.match(/^\/scheme must be/)
    }
  })
})

const wrongHints: [hints: object, message: string][] = [[{ annotations: 'user' }, 'annotations: ']]

describe('parseResources', () => {
  const whole = {
    ...cube,
    title: 'The cube',
    description: 'One object',
    mimeType: 'application/json',
    size: 12,
    annotations: { audience: ['user'], priority: 0.5, lastModified: '2030-01-02T03:04:05.678Z' },
  }
  const nulls = { title: null, size: null, annotations: null }
  const good: [what: string, value: unknown[], expected: unknown[]][] = [
    ['no entries', [], []],
    ['all members', [whole], [whole]],
    ['null for what is absent', [{ ...cube, ...nulls }], [cube]],
    ['a scheme in upper case', [{ ...cube, uri: 'APP://Cube' }], [{ ...cube, uri: 'APP://Cube' }]],
    ['the first of two with one URI', [cube, { ...cube, name: 'Other' }], [cube]],
  ]
  for (const [what, value, expected] of good) {
    it(`takes ${what}`, () => {
      const parsed = parseResources(value, 'app', limits)
      expect(parsed).to.deep.equal({ ok: true, value: expected })
    })
  }

  const wrongEntries: [entry: unknown, message: string][] = [
    [null, ': '],
    [{ name: 'a' }, '/uri: '],
    [{ ...cube, uri: { toString: 0, valueOf: 0 } }, '/uri: '],
    [{ ...cube, uri: 'app://a b' }, '/uri: is malformed: '],
    [{ ...cube, uri: 'other://a' }, '/uri: must begin with app:'],
    [{ ...cube, uri: `app://${'a'.repeat(2048)}` }, '/uri: must have at'],
    [{ uri: 'app://a' }, '/name: '],
    [{ ...cube, title: 5 }, '/title: '],
    [{ ...cube, size: 1.5 }, '/size: '],
    [{ ...cube, mimetype: 'x' }, ': Unrecognized key: "mimetype"'],
    ...wrongHints.map(([hints, message]): [object, string] => [
      { ...cube, ...hints },
      `/${message}`,
    ]),
  ]
  it('names what is wrong in an entry', () => {
    for (const [entry, message] of wrongEntries) {
      const parsed = parseResources([cube, entry], 'app', limits)
      expect(!parsed.ok && parsed.failure.code, message).to.equal('invalid')
      expect(!parsed.ok && parsed.failure.message).to.contain(`/resources/1${message}`)
    }
  })

  it('refuses what is no array, and one entry too many', () => {
    for (const value of [undefined, {}, 'x']) {
      const parsed = parseResources(value, 'app', limits)
      expect(!parsed.ok && parsed.failure.message).to.equal('/resources must be an array')
    }
    const parsed = parseResources([cube, cube, cube, cube], 'app', limits)
    expect(!parsed.ok && parsed.failure.code).to.equal('limit')
  })
})

describe('parseTemplates', () => {
  const one = { uriTemplate: 'app://{name}', name: 'One' }

  it('takes all members', () => {
    const texts = { title: 'T', description: 'D', mimeType: 'text/plain' }
    const hints = { annotations: { priority: 1 } }
    const whole = { ...one, ...texts, ...hints }
    expect(parseTemplates([whole], 'app', limits)).to.deep.equal({ ok: true, value: [whole] })
  })

  it('names what is wrong', () => {
    const wrong: [value: unknown, code: string, message: string][] = [
      [{}, 'invalid', '/templates must be an array'],
      [[{ name: 'a' }], 'invalid', '/templates/0/uriTemplate: '],
      [[{ ...one, uriTemplate: 'apple://{x}' }], 'invalid', '/templates/0/uriTemplate: must begin'],
      [[{ ...one, uri: 'app://a' }], 'invalid', '/templates/0: Unrecognized key: "uri"'],
      [[one, { uriTemplate: 'app://{a}' }], 'invalid', '/templates/1/name: '],
      [[one, one, one, one], 'limit', '/templates must not have more than 3 entries'],
    ]
    for (const [value, code, message] of wrong) {
      const parsed = parseTemplates(value, 'app', limits)
      expect(!parsed.ok && parsed.failure.code, message).to.equal(code)
      expect(!parsed.ok && parsed.failure.message).to.contain(message)
    }
  })
})
