import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { type Limits, resolveLimits } from '../../../src/lib/config/limits.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../../src/server/resources/errors.ts'
import type { PagedProducer, ResourceProducer } from '../../../src/server/resources/producer.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import { ManualTime } from './manual-time.ts'

const good = [{ uri: 'docs://a', name: 'A' }]
const never = () => new Promise<never>(() => {})
const secret = 'Error: /home/artist/secret.ma'
const fail = (): never => {
  throw new Error(secret)
}

function serving(producer: object, limits: Partial<Limits> = {}) {
  const time = new ManualTime()
  const logged: object[] = []
  const note = (fields: object) => void logged.push(fields)
  const resources = new ResourceRegistry({
    limits: resolveLimits(limits),
    timer: time,
    log: { debug: note, info: note, warn: note, error: note },
    enableArtefactResources: false,
  })
  const base: ResourceProducer = { scheme: 'docs', list: () => good, read: () => [] }
  resources.addProducer(Object.assign(base, producer))
  resources.freeze()
  return { resources, time, logged }
}

async function customUris(resources: ResourceRegistry): Promise<string[]> {
  const { descriptors } = await resources.page(undefined)
  const uris = descriptors.map(({ uri }) => uri)
  expect(uris.slice(0, 3)).to.deep.equal(['scene://current', 'scene://delta', 'audit://recent'])
  return uris.slice(3)
}

async function errorOf(call: () => unknown): Promise<ServiceError> {
  try {
    await call()
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('addProducer', () => {
  const base: ResourceProducer = { scheme: 'docs', list: () => [], read: () => [] }
  const registry = () =>
    new ResourceRegistry({ limits: resolveLimits(), enableArtefactResources: false })

  for (const scheme of [
    'scene',
    'capture',
    'audit',
    'artefact',
    'events',
    'gateway',
    'resources',
  ]) {
    it(`refuses the built-in scheme ${scheme}`, () => {
      expect(() => registry().addProducer({ ...base, scheme })).to.throw(ServiceError, /taken/)
    })
  }

  for (const scheme of ['', 'Docs', '1a', 'a b', 'a:', 'é', 'a'.repeat(65), undefined, 5]) {
    it(`refuses the scheme ${String(scheme).slice(0, 10)}`, () => {
      expect(() => registry().addProducer({ ...base, scheme } as never)).to.throw(TypeError)
    })
  }

  for (const producer of [undefined, null, {}, { scheme: 'a', list: () => [] }]) {
    it(`refuses ${JSON.stringify(producer)} as a producer`, () => {
      expect(() => registry().addProducer(producer as never)).to.throw(TypeError)
    })
  }

  it('refuses a second producer of a scheme, and any after start', () => {
    const resources = registry()
    resources.addProducer(base)
    expect(() => resources.addProducer({ ...base })).to.throw(ServiceError, /taken/)
    resources.freeze()
    expect(() => resources.addProducer({ ...base, scheme: 'more' })).to.throw(ServiceError, /start/)
  })
})

describe('a custom producer that lists', () => {
  it('is served with the known members of its entries', async () => {
    const annotations = { audience: ['user'], priority: 0.5, lastModified: '2026-01-01T00:00:00Z' }
    const icon = { src: 'https://a.example/i.png', sizes: ['48x48', 'any'], theme: 'dark' }
    const hints = { annotations, icons: [icon], _meta: { 'a.example/b': 1 } }
    const texts = { title: 'T', description: 'D', mimeType: 'text/plain' }
    const entry = { ...good[0], ...texts, ...hints, size: 5 }
    const more = { annotations: { ...annotations, x: 1 }, icons: [{ ...icon, x: 1 }] }
    const { resources } = serving({ list: () => [{ ...entry, ...more, password: 'x' }] })
    const { descriptors } = await resources.page(undefined)
    expect(descriptors[3]).to.deep.equal(entry)
  })

  it('may take its time', async () => {
    const { resources, time } = serving({ list: () => Promise.resolve(good) })
    expect(await customUris(resources)).to.deep.equal(['docs://a'])
    expect(time.waiting).to.equal(0)
  })

  const bad: [how: string, list: () => unknown][] = [
    ['throws', fail],
    [
      'throws undefined',
      () => {
        throw undefined
      },
    ],
    ['rejects', () => Promise.reject(new Error(secret))],
    ['returns nothing', () => undefined],
    ['returns an object', () => ({})],
    ['returns a text', () => 'docs://a'],
    ['resolves to nothing', () => Promise.resolve(null)],
    ['returns an array whose elements cannot be read', () => [new Proxy({}, { get: fail })]],
    ['returns an object whose then throws', () => Object.defineProperty({}, 'then', { get: fail })],
  ]
  for (const [how, list] of bad) {
    it(`loses only its own entries when it ${how}, logged once`, async () => {
      const { resources, logged } = serving({ list })
      expect(await customUris(resources)).to.deep.equal([])
      expect(await customUris(resources)).to.deep.equal([])
      expect(logged).to.have.length(1)
    })
  }

  const entries: unknown[] = [
    null,
    'docs://b',
    [],
    {},
    { uri: 'docs://b' },
    { uri: 5, name: 'B' },
    { uri: 'docs://b c', name: 'B' },
    { uri: 'scene://current', name: 'B' },
    { uri: 'docs://b', name: 'B', mimeType: 5 },
    { uri: 'docs://b', name: 'B', size: -1 },
    { uri: 'docs://b', name: 'B', annotations: 'x' },
    { uri: 'docs://b', name: 'B', annotations: { audience: ['model'] } },
    { uri: 'docs://b', name: 'B', annotations: { priority: 2 } },
    { uri: 'docs://b', name: 'B', annotations: { lastModified: '2026-02-30T00:00:00Z' } },
    { uri: 'docs://b', name: 'B', icons: {} },
    { uri: 'docs://b', name: 'B', icons: [{ src: 'javascript:alert(1)' }] },
    { uri: 'docs://b', name: 'B', icons: [{ src: 'https://a', sizes: 'any' }] },
    { uri: 'docs://b', name: 'B', icons: [{ src: 'https://a', theme: 'grey' }] },
    { uri: 'docs://b', name: 'B', icons: Array(9).fill({ src: 'https://a' }) },
  ]
  for (const entry of entries) {
    it(`loses only the entry ${JSON.stringify(entry)}`, async () => {
      const { resources, logged } = serving({ list: () => [entry, ...good] })
      expect(await customUris(resources)).to.deep.equal(['docs://a'])
      expect(logged).to.have.length(1)
    })
  }

  it('is left out when it does not settle in time, and is not waited for again', async () => {
    const { promise, resolve } = Promise.withResolvers<typeof good>()
    let calls = 0
    const { resources, time, logged } = serving({ list: () => (calls++, promise) })
    const slow = customUris(resources)
    time.advance(2000)
    expect(await slow).to.deep.equal([])
    expect(resources.page(undefined)).not.to.be.instanceOf(Promise)
    expect(calls).to.equal(1)
    expect(logged).to.have.length(1)
    resolve(good)
    await promise
    await new Promise(setImmediate)
    expect(await customUris(resources)).to.deep.equal(['docs://a'])
  })
})

describe('a custom producer that reads', () => {
  it('is given the URI as it was asked for and answers as it is', () => {
    const asked: string[] = []
    const text = { uri: 'docs://a', mimeType: 'text/plain', text: 'hello' }
    const blob = { uri: 'docs://a', blob: new Uint8Array([1]) }
    const read = (uri: string) => (asked.push(uri), [text, blob])
    const { resources } = serving({ read })
    expect(resources.read('docs://a%20b?x=1#y')).to.deep.equal([
      text,
      { ...blob, mimeType: 'application/octet-stream' },
    ])
    expect(asked).to.deep.equal(['docs://a%20b?x=1#y'])
  })

  it('says "unchanged" by the identical frozen array', () => {
    const mimeType = 'text/plain'
    const frozen = Object.freeze([Object.freeze({ uri: 'docs://a', mimeType, text: 'x' })])
    const loose = [{ uri: 'docs://b', mimeType, text: 'x' }]
    const { resources } = serving({ read: (uri: string) => (uri === 'docs://a' ? frozen : loose) })
    expect(resources.read('docs://a')).to.equal(frozen)
    expect(resources.read('docs://b')).not.to.equal(loose)
  })

  it('gets the MIME type of its list, else the one that claims least, unchanged ones as before', () => {
    const frozen = Object.freeze([Object.freeze({ uri: 'docs://a', text: 'x' })])
    const list = [{ ...good[0], mimeType: 'text/markdown' }]
    const { resources } = serving({ list: () => list, read: () => frozen })
    void resources.page(undefined)
    const first = resources.read('docs://a')
    expect(first).to.deep.equal([{ uri: 'docs://a', mimeType: 'text/markdown', text: 'x' }])
    expect(resources.read('docs://a')).to.equal(first)
    expect([first, ...(first as object[])].every(Object.isFrozen)).to.equal(true)
    const never = serving({ read: () => [{ uri: 'docs://a', blob: 'AAAA' }] })
    expect(never.resources.read('docs://a')).to.deep.equal([
      { uri: 'docs://a', mimeType: 'application/octet-stream', blob: 'AAAA' },
    ])
  })

  it('may take its time', async () => {
    const { resources, time } = serving({ read: async (uri: string) => [{ uri, text: 'x' }] })
    expect(await resources.read('docs://a')).to.deep.equal([
      { uri: 'docs://a', mimeType: 'text/plain', text: 'x' },
    ])
    expect(time.waiting).to.equal(0)
  })

  for (const read of [
    (uri: string) => {
      throw new ResourceNotFound(uri)
    },
    async () => {
      throw new ResourceNotFound('docs://some/other/path')
    },
  ]) {
    it(`may not know the URI (${read.constructor.name})`, async () => {
      const { resources } = serving({ read })
      const error = await errorOf(() => resources.read('docs://none'))
      expect(error).to.be.instanceOf(ResourceNotFound)
      expect(error.data).to.deep.equal({ uri: 'docs://none' })
    })
  }

  it('may call a URI wrong', async () => {
    const { resources } = serving({
      read: () => {
        // Nothing but the message is bounded in what it may hold.
        throw new ResourceUriInvalid('page must be > 0', { data: { secret }, hint: secret })
      },
    })
    const error = await errorOf(() => resources.read('docs://a?page=0'))
    expect(error).to.include({ code: 'resource_uri_invalid', message: 'page must be > 0' })
    expect(error).to.include({ data: undefined, hint: undefined })
  })

  const uri = 'docs://a'
  const bad: [how: string, read: () => unknown][] = [
    ['throws', fail],
    [
      'throws a text',
      () => {
        throw secret
      },
    ],
    [
      'throws nothing',
      () => {
        throw undefined
      },
    ],
    [
      'throws another error of ours',
      () => {
        throw new ServiceError('internal', secret)
      },
    ],
    ['rejects', async () => fail()],
    ['returns nothing', () => undefined],
    ['returns one content', () => ({ uri, text: 'x' })],
    ['resolves to a text', async () => 'x'],
    ['returns a content of nothing', () => [null]],
    ['returns a content without uri', () => [{ text: 'x' }]],
    ['returns a content without body', () => [{ uri }]],
    ['returns a content with two bodies', () => [{ uri, text: 'x', blob: 'eA==' }]],
    ['returns a text that is none', () => [{ uri, text: 5 }]],
    ['returns a blob that is none', () => [{ uri, blob: 5 }]],
    ['returns a blob that is not base64', () => [{ uri, blob: 'a"b=' }]],
    ['returns base64 without padding', () => [{ uri, blob: 'eA' }]],
    ['returns a MIME type that is none', () => [{ uri, text: 'x', mimeType: 5 }]],
    ['returns an object whose then throws', () => Object.defineProperty({}, 'then', { get: fail })],
  ]
  for (const [how, read] of bad) {
    it(`fails without a word of its own when it ${how}`, async () => {
      const { resources, logged } = serving({ read })
      const error = await errorOf(() => resources.read(uri))
      expect(error.code).to.equal('resource_failed')
      expect(error.data).to.deep.equal({ reason: 'producer_failed' })
      expect(error.cause).to.equal(undefined)
      expect(`${error.message} ${error.hint}`).not.to.contain('secret')
      expect(logged).to.have.length(1)
    })
  }

  it('fails when it does not answer in time, and its late answer is nothing', async () => {
    const { promise, reject } = Promise.withResolvers<never>()
    const { resources, time, logged } = serving({ read: () => promise })
    const read = errorOf(() => resources.read(uri))
    time.advance(1999)
    expect(time.waiting).to.equal(1)
    time.advance(1)
    expect((await read).data).to.deep.equal({ reason: 'producer_timeout' })
    expect(logged).to.have.length(1)
    reject(new Error('late'))
    await new Promise(setImmediate)
  })

  it('fails at once when too many of its reads are pending', async () => {
    const { resources, time } = serving({ read: never }, { maxPendingReads: 2 })
    const pending = [1, 2].map(() => errorOf(() => resources.read(uri)))
    const refused = await errorOf(() => resources.read(uri))
    expect(refused.data).to.deep.equal({ reason: 'producer_timeout' })
    time.advance(2000)
    await Promise.all(pending)
  })
})

describe('a custom producer with templates', () => {
  const template = { uriTemplate: 'docs://{page}', name: 'Page' }
  const bad: [how: string, templates: () => unknown][] = [
    ['throw', fail],
    ['are a promise', async () => [template]],
    ['are of another scheme', () => [{ ...template, uriTemplate: 'scene://{a}' }]],
    ['have no name', () => [{ uriTemplate: 'docs://{page}' }]],
    ['have hints out of their form', () => [{ ...template, annotations: { priority: -1 } }]],
  ]
  for (const [how, templates] of bad) {
    it(`loses only its own when they ${how}`, () => {
      const { resources } = serving({ templates })
      expect(resources.templates()).to.have.length(3)
    })
  }

  it('is served with the known members of its templates', () => {
    const hints = { annotations: { priority: 1 }, icons: [{ src: 'data:image/png;base64,AAAA' }] }
    const { resources } = serving({ templates: () => [{ ...template, ...hints, x: 1 }] })
    expect(resources.templates()[3]).to.deep.equal({ ...template, ...hints })
  })

  it('is told the template and what is resolved of its variables', async () => {
    const asked: unknown[] = []
    const uriTemplate = 'docs://{book}/{page}'
    const { resources } = serving({
      templates: () => [{ ...template, uriTemplate }],
      complete: (...args: unknown[]) => (asked.push(args), ['1', '2']),
    })
    const resolved = new Map([
      ['book', 'rig'],
      ['other', 'x'],
    ])
    expect(await resources.complete(uriTemplate, 'page', '', resolved)).to.deep.equal({
      values: ['1', '2'],
      total: 2,
      hasMore: false,
    })
    const context = { uriTemplate, resolved: new Map([['book', 'rig']]) }
    expect(asked).to.deep.equal([['page', '', context]])
  })

  const partial: [given: object, expected: object][] = [
    [{ values: ['a'] }, { values: ['a'], hasMore: false }],
    [
      { values: ['a'], total: 7 },
      { values: ['a'], total: 7, hasMore: false },
    ],
    [
      { values: ['a'], hasMore: true },
      { values: ['a'], hasMore: true },
    ],
  ]
  for (const [given, expected] of partial) {
    it(`may know only some of the values: ${JSON.stringify(given)}`, async () => {
      const { resources } = serving({ templates: () => [template], complete: () => given })
      expect(await resources.complete('docs://{page}', 'page', '')).to.deep.equal(expected)
    })
  }

  it('is completed from its list when it does not complete', async () => {
    const list = ['docs://rig/1', 'docs://rig/2', 'docs://lamp/1'].map(uri => ({ uri, name: uri }))
    const uriTemplate = 'docs://{book}/{page}'
    const { resources } = serving({
      list: async () => list,
      templates: () => [{ ...template, uriTemplate }],
    })
    const values = async (variable: string, prefix: string, book?: string) => {
      const resolved = new Map(book === undefined ? [] : [['book', book]])
      return (await resources.complete(uriTemplate, variable, prefix, resolved)).values
    }
    expect(await values('book', '')).to.deep.equal(['rig', 'lamp'])
    expect(await values('book', 'l')).to.deep.equal(['lamp'])
    expect(await values('page', '')).to.deep.equal(['1', '2'])
    expect(await values('page', '', 'lamp')).to.deep.equal(['1'])
  })

  const broken: [how: string, complete: () => unknown][] = [
    ['throws', fail],
    ['rejects', async () => fail()],
    ['returns nothing', () => null],
    ['returns numbers', () => [1, 2]],
    ['returns no values', () => ({ total: 1 })],
    ['returns a total that is less', () => ({ values: ['a', 'b'], total: 1 })],
    ['returns values that are none', () => ({ values: 'ab' })],
    ['says no yes or no', () => ({ values: ['a'], hasMore: 'yes' })],
  ]
  for (const [how, complete] of broken) {
    it(`completes nothing when complete ${how}`, async () => {
      const { resources } = serving({ templates: () => [template], complete })
      const { values } = await resources.complete('docs://{page}', 'page', '')
      expect(values).to.deep.equal([])
    })
  }

  it('completes nothing when too many of its completions are pending, until they settle', async () => {
    const settle: ((values: string[]) => void)[] = []
    const complete = () => new Promise<string[]>(resolve => settle.push(resolve))
    const producer = { templates: () => [template], complete, read: async () => [] }
    const { resources, time, logged } = serving(producer, { maxPendingReads: 2 })
    const values = async () => (await resources.complete('docs://{page}', 'page', '')).values
    const late = [values(), values()]
    expect(await values()).to.deep.equal([])
    expect(settle).to.have.length(2)
    expect(logged).to.have.length(1)
    expect(await resources.read('docs://a')).to.deep.equal([])
    time.advance(2000)
    await Promise.all(late)
    // Nobody waits any more, and the work still goes on.
    expect(await values()).to.deep.equal([])
    expect(settle).to.have.length(2)
    settle[0]?.([])
    await new Promise(setImmediate)
    const next = values()
    settle[2]?.(['here'])
    expect(await next).to.deep.equal(['here'])
  })

  it('completes nothing when complete does not settle', async () => {
    const { resources, time } = serving({ templates: () => [template], complete: never })
    const completing = resources.complete('docs://{page}', 'page', '')
    time.advance(2000)
    expect((await completing).values).to.deep.equal([])
  })
})

describe('the artefact producer', () => {
  const producer: PagedProducer = {
    scheme: 'artefact',
    list: () => [],
    read: () => [],
    page: () => ({ descriptors: [] }),
  }
  const hash = `artefact://sha256/${'a'.repeat(64)}`
  const cases: [thrown: Error, code: string][] = [
    [new ResourceNotFound(hash), 'resource_not_found'],
    [new ResourceUriInvalid('not a hash'), 'resource_uri_invalid'],
    [new ServiceError('storage_failed', secret), 'resource_failed'],
    [new Error(secret), 'resource_failed'],
  ]
  for (const [thrown, code] of cases) {
    it(`is read by its scheme; ${thrown.name} → ${code}`, async () => {
      for (const read of [
        () => {
          throw thrown
        },
        () => Promise.reject(thrown),
      ]) {
        const resources = new ResourceRegistry({
          limits: resolveLimits(),
          artefacts: { ...producer, read },
          enableArtefactResources: true,
        })
        const error = await errorOf(() => resources.read(hash))
        expect(error.code).to.equal(code)
        expect(error.message).not.to.contain('secret')
      }
    })
  }
})
