import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import type { ResourceProducer } from '../../../src/server/resources/producer.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import { fail, good, never, secret, serving } from './support.ts'
import { boundsWith } from '../../helpers/bounds.ts'

async function customUris(resources: ResourceRegistry): Promise<string[]> {
  const { descriptors } = await resources.page(undefined)
  const uris = descriptors.map(({ uri }) => uri)
  expect(uris.slice(0, 3)).to.deep.equal(['scene://current', 'scene://delta', 'audit://recent'])
  return uris.slice(3)
}

describe('addProducer', () => {
  const base: ResourceProducer = { scheme: 'docs', list: () => [], read: () => [] }
  const registry = () => new ResourceRegistry({ limits: boundsWith() })

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
