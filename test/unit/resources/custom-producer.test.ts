import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import type { ResourceProducer } from '../../../src/server/resources/producer.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import { fail, good, never, secret, serving } from './support.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'
import { failureOf } from '../../helpers/failure.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../../src/server/resources/errors.ts'

async function customUris(resources: ResourceRegistry): Promise<string[]> {
  const { descriptors } = await resources.page(undefined)
  const uris = descriptors.map(({ uri }) => uri)
  expect(uris.slice(0, 3)).to.deep.equal(['scene://current', 'scene://delta', 'audit://recent'])
  return uris.slice(3)
}

describe('addProducer', () => {
  const base: ResourceProducer = { scheme: 'docs', list: () => [], read: () => [] }
  const registry = () => new ResourceRegistry({ limits: serverDefaults })

  for (const scheme of ['', 'Docs', '1a', 'a:', 'a'.repeat(65), 5]) {
    it(`refuses the scheme ${String(scheme).slice(0, 10)}`, () => {
      expect(() => registry().addProducer({ ...base, scheme } as never)).to.throw(TypeError)
    })
  }

  it('refuses a second producer of a scheme', () => {
    const resources = registry()
    resources.addProducer(base)
    expect(() => resources.addProducer({ ...base })).to.throw(ServiceError, /taken/)
  })
})

describe('a custom producer that lists', () => {
  it('serves only the known members of its entries', async () => {
    const lastModified = '2026-01-01T00:00:00.000Z'
    const annotations = { audience: ['user'], priority: 0.5, lastModified }
    const hints = { annotations, _meta: { 'a.example/b': 1 } }
    const texts = { title: 'T', description: 'D', mimeType: 'text/plain' }
    const entry = { ...good[0], ...texts, ...hints, size: 5 }
    const { resources } = serving({ list: () => [{ ...entry, password: 'x' }] })
    const { descriptors } = await resources.page(undefined)
    expect(descriptors[3]).to.deep.equal(entry)
  })

  const bad: [how: string, list: () => unknown][] = [
    ['throws', fail],
    ['rejects', () => Promise.reject(new Error(secret))],
    ['returns nothing', () => undefined],
    ['returns an array whose elements cannot be read', () => [new Proxy({}, { get: fail })]],
    ['returns an object whose then throws', () => Object.defineProperty({}, 'then', { get: fail })],
  ]
  for (const [how, list] of bad) {
    it(`loses only its own entries when it ${how}, and is logged`, async () => {
      const { resources, logged } = serving({ list })
      expect(await customUris(resources)).to.deep.equal([])
      expect(logged).to.have.length(1)
    })
  }

  const entries: unknown[] = [
    null,
    { uri: 'docs://b c', name: 'B' },
    { uri: 'scene://current', name: 'B' },
    { uri: 'docs://b', name: 'B', mimeType: 5 },
    { uri: 'docs://b', name: 'B', size: -1 },
    { uri: 'docs://b', name: 'B', annotations: 'user' },
  ]
  for (const entry of entries) {
    it(`loses only the entry ${JSON.stringify(entry)}`, async () => {
      const { resources, logged } = serving({ list: () => [entry, ...good] })
      expect(await customUris(resources)).to.deep.equal(['docs://a'])
      expect(logged).to.have.length(1)
    })
  }

  it('is left out after the timeout', async () => {
    const { resources, time, logged } = serving({ list: never })
    const slow = customUris(resources)
    time.advance(2000)
    expect(await slow).to.deep.equal([])
    expect(logged).to.have.length(1)
  })
})

describe('a custom producer that reads', () => {
  it('receives the requested URI, and its contents are returned unchanged', async () => {
    const asked: string[] = []
    const text = { uri: 'docs://a', mimeType: 'text/plain', text: 'hello' }
    const blob = { uri: 'docs://a', blob: new Uint8Array([1]) }
    const read = (uri: string) => (asked.push(uri), [text, blob])
    const { resources } = serving({ read })
    expect(await resources.read('docs://a%20b?x=1#y')).to.deep.equal([
      text,
      { ...blob, mimeType: 'application/octet-stream' },
    ])
    expect(asked).to.deep.equal(['docs://a%20b?x=1#y'])
  })

  it('may return the identical frozen array for unchanged contents', async () => {
    const mimeType = 'text/plain'
    const frozen = Object.freeze([Object.freeze({ uri: 'docs://a', mimeType, text: 'x' })])
    const loose = [{ uri: 'docs://b', mimeType, text: 'x' }]
    const { resources } = serving({ read: (uri: string) => (uri === 'docs://a' ? frozen : loose) })
    expect(await resources.read('docs://a')).to.equal(frozen)
    expect(await resources.read('docs://b')).not.to.equal(loose)
  })

  it('gets the MIME type of its list or a generic one', async () => {
    const frozen = Object.freeze([Object.freeze({ uri: 'docs://a', text: 'x' })])
    const list = [{ ...good[0], mimeType: 'text/markdown' }]
    const { resources } = serving({ list: () => list, read: () => frozen })
    await resources.page(undefined)
    expect(await resources.read('docs://a')).to.deep.equal([
      { uri: 'docs://a', mimeType: 'text/markdown', text: 'x' },
    ])
    const never = serving({ read: () => [{ uri: 'docs://a', blob: 'AAAA' }] })
    expect(await never.resources.read('docs://a')).to.deep.equal([
      { uri: 'docs://a', mimeType: 'application/octet-stream', blob: 'AAAA' },
    ])
  })

  for (const read of [
    (uri: string) => {
      throw new ResourceNotFound(uri)
    },
    async () => {
      throw new ResourceNotFound('docs://some/other/path')
    },
  ]) {
    it(`may throw ResourceNotFound (${read.constructor.name})`, async () => {
      const { resources } = serving({ read })
      const error = await failureOf(() => resources.read('docs://none'))
      expect(error.code).to.equal('resource_not_found')
      expect(error.data).to.deep.equal({ uri: 'docs://none' })
    })
  }

  it('may throw ResourceUriInvalid, of which only the message is kept', async () => {
    const { resources } = serving({
      read: () => {
        // Nothing but the message is bounded in what it may hold.
        throw new ResourceUriInvalid('page must be > 0', { data: { secret }, hint: secret })
      },
    })
    const error = await failureOf(() => resources.read('docs://a?page=0'))
    expect(error).to.include({ code: 'resource_uri_invalid', message: 'page must be > 0' })
    expect(error).to.include({ data: undefined, hint: undefined })
  })

  const uri = 'docs://a'
  const bad: [how: string, read: () => unknown][] = [
    ['throws', fail],
    [
      'throws a string',
      () => {
        throw secret
      },
    ],
    [
      'throws another ServiceError',
      () => {
        throw new ServiceError('internal', secret)
      },
    ],
    ['rejects', async () => fail()],
    ['returns nothing', () => undefined],
    ['returns a null content', () => [null]],
    ['returns a text that is a number', () => [{ uri, text: 5 }]],
    ['returns a content without body', () => [{ uri }]],
    ['returns a content with two bodies', () => [{ uri, text: 'x', blob: 'eA==' }]],
    ['returns a blob that is a number', () => [{ uri, blob: 5 }]],
    ['returns a blob that is not base64', () => [{ uri, blob: 'a"b=' }]],
    ['returns a MIME type that is a number', () => [{ uri, text: 'x', mimeType: 5 }]],
    ['returns an object whose then throws', () => Object.defineProperty({}, 'then', { get: fail })],
  ]
  for (const [how, read] of bad) {
    it(`fails without the producer's message when it ${how}`, async () => {
      const { resources, logged } = serving({ read })
      const error = await failureOf(() => resources.read(uri))
      expect(error.code).to.equal('resource_failed')
      expect(error.data).to.deep.equal({ reason: 'producer_failed' })
      expect(error.cause).to.equal(undefined)
      expect(`${error.message} ${error.hint}`).not.to.contain('secret')
      expect(logged).to.have.length(1)
    })
  }

  it('fails after the timeout and ignores a late answer', async () => {
    const { promise, reject } = Promise.withResolvers<never>()
    const { resources, time, logged } = serving({ read: () => promise })
    const read = failureOf(() => resources.read(uri))
    time.advance(1999)
    expect(time.waiting).to.equal(1)
    time.advance(1)
    expect((await read).data).to.deep.equal({ reason: 'producer_timeout' })
    expect(logged).to.have.length(1)
    reject(new Error('late'))
    await new Promise(setImmediate)
  })
})

describe('the artefact producer', () => {
  const hash = `artefact://sha256/${'a'.repeat(64)}`
  const cases: [thrown: Error, code: string][] = [
    [new ResourceNotFound(hash), 'resource_not_found'],
    [new ResourceUriInvalid('not a hash'), 'resource_uri_invalid'],
    [new ServiceError('storage_failed', secret), 'resource_failed'],
    [new Error(secret), 'resource_failed'],
  ]
  for (const [thrown, code] of cases) {
    it(`fails with ${code} when its read throws ${thrown.name}`, async () => {
      for (const read of [
        () => {
          throw thrown
        },
        () => Promise.reject(thrown),
      ]) {
        const resources = new ResourceRegistry({ limits: serverDefaults, artefacts: { read } })
        const error = await failureOf(() => resources.read(hash))
        expect(error.code).to.equal(code)
        expect(error.message).not.to.contain('secret')
      }
    })
  }
})

describe('a custom producer with templates', () => {
  const template = { uriTemplate: 'docs://{page}', name: 'Page' }
  const bad: [how: string, templates: () => unknown][] = [
    ['throw', fail],
    ['are a promise', async () => [template]],
    ['are of another scheme', () => [{ ...template, uriTemplate: 'scene://{a}' }]],
    ['have hints out of their form', () => [{ ...template, annotations: 1 }]],
  ]
  for (const [how, templates] of bad) {
    it(`loses only its own templates when they ${how}`, () => {
      const { resources } = serving({ templates })
      expect(resources.templates()).to.have.length(4)
    })
  }

  it('is completed from its list', async () => {
    const uris = ['docs://rig/1', 'docs://rig/2', 'docs://A%20B/1', 'docs://']
    const list = uris.map(uri => ({ uri, name: uri }))
    const uriTemplate = 'docs://{book}/{page}'
    const { resources } = serving({
      list: async () => list,
      templates: () => [{ ...template, uriTemplate }],
    })
    const values = async (variable: string, prefix: string, book?: string) => {
      const resolved = new Map(book === undefined ? [] : [['book', book]])
      return (await resources.complete(uriTemplate, variable, prefix, resolved)).values
    }
    expect(await values('book', '')).to.deep.equal(['rig', 'A B'])
    expect(await values('book', 'A')).to.deep.equal(['A B'])
    expect(await values('page', '')).to.deep.equal([])
    expect(await values('page', '', 'A B')).to.deep.equal(['1'])
  })
})
