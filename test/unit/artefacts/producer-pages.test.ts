import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { resolveLimits } from '../../../src/lib/config/limits.ts'
import { createArtefactProducer } from '../../../src/server/artefacts/producer.ts'
import { hexOf, shrink, withProducer } from './support.ts'

describe('artefact producer', () => {
  it('describes an artefact by its sidecar', () =>
    withProducer(async ({ store, producer }) => {
      const { ref } = await store.put(randomBytes(9), {
        mime: 'image/png',
        displayName: 'render.png',
        jobId: 'j',
        metadata: { frame: 7 },
      })
      const plain = (await store.put(randomBytes(9))).ref
      const byUri = new Map((await producer.list()).map(each => [each.uri, each]))
      expect(byUri.get(ref.uri)).to.deep.equal({
        uri: ref.uri,
        name: 'render.png',
        title: 'render.png',
        mimeType: 'image/png',
        size: 9,
        annotations: { lastModified: '2030-01-01T00:00:00.000Z' },
        _meta: {
          'service-cli/artefact': {
            job_id: 'j',
            metadata: { frame: 7 },
            download_url: `http://127.0.0.1:1/artefacts/sha256/${hexOf(ref)}`,
          },
        },
      })
      const hex = hexOf(plain)
      const named = { name: hex, title: `Artefact ${hex.slice(0, 12)}` }
      expect(byUri.get(plain.uri)).to.include(named)
    }))

  it('omits the download address when there is none', () =>
    withProducer(async ({ store }) => {
      await store.put(randomBytes(9))
      const limits = resolveLimits()
      const producer = createArtefactProducer({ store, limits, downloadUrl: () => null, shrink })
      const [descriptor] = await producer.list()
      expect(descriptor).to.include({ size: 9 })
      expect(descriptor).to.not.have.property('_meta')
    }))

  it('returns the same frozen page until something changes', () =>
    withProducer(
      async ({ store, producer, clock }) => {
        for (let at = 0; at < 5; at++) await store.put(randomBytes(9))
        const first = await producer.page(undefined, 2)
        const second = await producer.page(first.next, 2)
        expect(Object.isFrozen(first.descriptors)).to.equal(true)
        expect(first.descriptors.every(each => Object.isFrozen(each))).to.equal(true)
        expect(await producer.page(undefined, 2)).to.equal(first)
        expect(await producer.page(first.next, 2)).to.equal(second)
        clock.advance(1)
        const { ref } = await store.put(randomBytes(9))
        const changed = await producer.page(undefined, 2)
        expect(changed).to.not.equal(first)
        expect(changed.descriptors[0]?.uri).to.equal(ref.uri)
        expect(changed.descriptors[1]).to.equal(first.descriptors[0])
        expect(await producer.page(first.next, 2)).to.deep.equal(second)
        expect(await producer.list()).to.have.length(6)
      },
      { pageSize: 2 },
    ))

  it('pages an unchanged store synchronously, without expired artefact', () =>
    withProducer(
      async ({ store, producer, clock }) => {
        expect(store.samePage(undefined, 9)).to.equal(null)
        await store.put(randomBytes(9), { expiresAt: new Date(clock.now() + 1000) })
        const stored = await store.page(undefined, 9)
        expect(store.samePage(undefined, 9)).to.equal(stored)
        expect(producer.page(undefined, 9)).not.to.be.instanceOf(Promise)
        clock.advance(1000)
        expect(store.samePage(undefined, 9)).to.equal(null)
        expect((await producer.page(undefined, 9)).descriptors).to.deep.equal([])
      },
      { artefactPollMs: 0 },
    ))

  it('completes the hash of its templates', () =>
    withProducer(async ({ store, producer, clock }) => {
      expect(producer.templates?.().map(each => each.uriTemplate)).to.deep.equal([
        'artefact://sha256/{hex}',
        'artefact://sha256/{hex}{?as,offset,limit,max_width}',
      ])
      const context = { uriTemplate: 'artefact://sha256/{hex}', resolved: new Map() }
      const complete = (variable: string, prefix: string) =>
        producer.complete?.(variable, prefix, context)
      for (let at = 0; at < 100; at++) await store.put(randomBytes(9))
      expect(await complete('hex', '')).to.have.length(100)
      clock.advance(1)
      const hex = hexOf((await store.put(randomBytes(9))).ref)
      const many = await complete('hex', '')
      if (many === undefined || !('values' in many) || 'length' in many)
        throw new Error('all of them')
      // Those stored last come first; how many more there are is not said.
      expect(many.values[0]).to.equal(hex)
      expect(many.values).to.have.length(100)
      expect(many).to.include({ hasMore: true }).and.not.to.have.property('total')
      expect(await complete('hex', hex.slice(0, 12))).to.deep.equal([hex])
      expect(await complete('hex', hex.toUpperCase().replace(/\d/g, 'A'))).to.deep.equal([])
      expect(await complete('other', '')).to.deep.equal([])
    }))
})
