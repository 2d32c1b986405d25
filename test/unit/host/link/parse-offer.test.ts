import { expect } from 'chai'
import {
  parseResources,
  parseScheme,
  parseTemplates,
} from '../../../../src/server/host/link/parse-offer.ts'

const limits = { maxLinkResources: 3, maxUriChars: 40, maxIcons: 2 }
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

const icon = { src: 'https://a.example/i' }
const wrongHints: [hints: object, message: string][] = [
  [{ annotations: [] }, 'annotations must be an object'],
  [{ annotations: { audience: 'user' } }, 'annotations/audience must be an array of "user" and'],
  [{ annotations: { audience: ['model'] } }, 'annotations/audience must be an array'],
  [{ annotations: { priority: 1.1 } }, 'annotations/priority must be a number from 0 to 1'],
  [{ annotations: { priority: '1' } }, 'annotations/priority must be a number from 0 to 1'],
  [{ annotations: { lastModified: 'now' } }, 'annotations/lastModified must be a time'],
  [{ annotations: { last_modified: 'x' } }, 'annotations/last_modified is not known here'],
  [{ icons: {} }, 'icons must be an array of at most 2 icons'],
  [{ icons: [icon, icon, icon] }, 'icons must be an array of at most 2 icons'],
  [{ icons: [icon, 5] }, 'icons/1 must be an object'],
  [{ icons: [{}] }, 'icons/0/src is required'],
  [{ icons: [{ src: 'javascript:alert(1)' }] }, 'icons/0/src must be an https, http or data:image'],
  [{ icons: [{ src: 'data:text/html,x' }] }, 'icons/0/src must be an https'],
  [{ icons: [{ src: `https://${'a'.repeat(40)}` }] }, 'icons/0/src must not be longer'],
  [{ icons: [{ ...icon, mimeType: 5 }] }, 'icons/0/mimeType must be a string'],
  [{ icons: [{ ...icon, sizes: '48x48' }] }, 'icons/0/sizes must be an array of sizes'],
  [{ icons: [{ ...icon, sizes: ['big'] }] }, 'icons/0/sizes must be an array of sizes'],
  [{ icons: [{ ...icon, sizes: ['any', 'any', 'any'] }] }, 'icons/0/sizes must be an array'],
  [{ icons: [{ ...icon, theme: 'grey' }] }, 'icons/0/theme must be light or dark'],
  [{ icons: [{ ...icon, size: 1 }] }, 'icons/0/size is not known here'],
]

describe('parseResources', () => {
  const whole = {
    ...cube,
    title: 'The cube',
    description: 'One object',
    mimeType: 'application/json',
    size: 12,
    annotations: { audience: ['user'], priority: 0.5, lastModified: '2030-01-02T03:04:05.678Z' },
    icons: [
      { src: 'https://studio.example/a.png', mimeType: 'image/png', sizes: ['48x48', 'any'] },
      { src: 'data:image/png;base64,AAAA', theme: 'dark' },
    ],
  }
  const good: [what: string, value: unknown, expected: unknown][] = [
    ['no entries', [], []],
    ['all members', [whole], [whole]],
    [
      'null for what is absent',
      [{ ...cube, title: null, size: null, annotations: null, icons: null }],
      [cube],
    ],
    [
      'hints that say nothing',
      [{ ...cube, annotations: {}, icons: [] }],
      [{ ...cube, annotations: {}, icons: [] }],
    ],
    [
      'a time of another zone',
      [{ ...cube, annotations: { lastModified: '2030-01-02T04:04:05+01:00' } }],
      [{ ...cube, annotations: { lastModified: '2030-01-02T03:04:05.000Z' } }],
    ],
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
    [
      [{ ...cube, uri: { toString: 0, valueOf: 0 } }],
      ...(['invalid', /^\/resources\/0\/uri must be a string$/] as const),
    ],
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
    ...wrongHints.map(([hints, message]): [unknown, string, RegExp] => [
      [{ ...cube, ...hints }],
      'invalid',
      new RegExp(`^/resources/0/${message}`),
    ]),
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
    const texts = { title: 'T', description: 'D', mimeType: 'text/plain' }
    const hints = { annotations: { priority: 1 }, icons: [{ src: 'https://a.example/i' }] }
    const whole = { ...one, ...texts, ...hints }
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
    [
      [{ ...one, annotations: { priority: 2 } }],
      'invalid',
      /^\/templates\/0\/annotations\/priority/,
    ],
    [[{ ...one, icons: [{}] }], 'invalid', /^\/templates\/0\/icons\/0\/src is required/],
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
