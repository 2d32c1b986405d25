import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { ResourceNotFound, ResourceUriInvalid } from '../../../src/server/resources/errors.ts'
import type {
  BlobContent,
  Content,
  EncodedBlob,
  StreamedBlob,
} from '../../../src/server/resources/producer.ts'
import { failureOf } from '../../helpers/failure.ts'
import { damage, collect, sha256, hexOf, withProducer } from './support.ts'

function blobOf(contents: readonly Content[]): BlobContent {
  const [content] = contents
  if (content === undefined || !('blob' in content)) throw new Error('not a blob')
  return content
}

function encodedOf(contents: readonly Content[]): string {
  return Buffer.from((blobOf(contents).blob as EncodedBlob).base64).toString('latin1')
}

describe('reads of the artefact producer', () => {
  it('drops the cached answer of a removed artefact', () =>
    withProducer(async ({ store, producer }) => {
      const bytes = randomBytes(100)
      const { ref } = await store.put(bytes)
      const first = await producer.read(ref.uri)
      expect(await producer.read(ref.uri)).to.equal(first)
      await store.remove(hexOf(ref))
      await store.put(bytes)
      // The identical answer is given for as long as the encoded body is kept.
      expect(await producer.read(ref.uri)).not.to.equal(first)
    }))

  it('counts the memory of a small artefact, not only its bytes', () =>
    withProducer(
      async ({ store, producer }) => {
        const uris: string[] = []
        for (let at = 0; at < 5; at++) uris.push((await store.put(randomBytes(9))).ref.uri)
        const [oldest = '', ...newer] = uris
        const first = await producer.read(oldest)
        for (const uri of newer) await producer.read(uri)
        expect(await producer.read(oldest)).not.to.equal(first)
      },
      { blobCacheBytes: 20 * 1024 },
    ))

  it('accepts only the canonical URI', () =>
    withProducer(async ({ producer, store }) => {
      const { ref } = await store.put(randomBytes(9))
      const hex = hexOf(ref)
      const wrong = [
        `artefact://sha256/${hex.toUpperCase()}`,
        `artefact://sha256/${hex.slice(1)}`,
        `artefact://sha256/${hex}0`,
        `artefact://sha256/${hex}/`,
        `artefact://sha256/${hex}#part`,
        `artefact://SHA256/${hex}`,
        `artefact://sha1/${hex}`,
        `artefact:///${hex}`,
        `artefact://sha256/../${hex}`,
        `artefact://sha256/%30${hex.slice(1)}`,
        `artefact://sha256/${hex}\n`,
        'artefact://',
      ]
      for (const uri of wrong) {
        const failure = await failureOf(async () => producer.read(uri))
        expect(failure, uri).to.be.instanceOf(ResourceUriInvalid)
      }
      const absent = `artefact://sha256/${'0'.repeat(64)}`
      const failure = await failureOf(async () => producer.read(absent))
      expect(failure).to.be.instanceOf(ResourceNotFound)
      expect(failure.data).to.deep.equal({ uri: absent })
    }))

  for (const size of [0, 1, 2, 3, 49_151, 49_152, 49_153, 300_000]) {
    it(`encodes ${size} bytes`, () =>
      withProducer(async ({ store, producer }) => {
        const bytes = randomBytes(size)
        const { ref } = await store.put(bytes, { mime: 'text/plain' })
        const contents = await producer.read(ref.uri)
        expect(blobOf(contents)).to.include({ uri: ref.uri, mimeType: 'text/plain' })
        expect(encodedOf(contents)).to.equal(bytes.toString('base64'))
      }))
  }

  it('reads a body once and returns the identical answer with the URI echoed', () =>
    withProducer(async ({ root, store, producer }) => {
      const { ref } = await store.put(randomBytes(300_000))
      const all = await Promise.all(Array.from({ length: 10 }, () => producer.read(ref.uri)))
      // Were the body read again, it would be found damaged.
      damage(root, hexOf(ref))
      expect(new Set(all).size).to.equal(1)
      expect(await producer.read(ref.uri)).to.equal(all[0])
      expect(Object.isFrozen(all[0])).to.equal(true)
      const withQuery = `${ref.uri}?x=1&y=2`
      const echoed = await producer.read(withQuery)
      expect(blobOf(echoed).uri).to.equal(withQuery)
      expect(encodedOf(echoed)).to.equal(encodedOf(all[0] ?? []))
      await store.put(Buffer.from(encodedOf(echoed), 'base64'), { mime: 'image/png' })
      const renamed = await producer.read(ref.uri)
      expect(blobOf(renamed).mimeType).to.equal('image/png')
      expect(await producer.read(ref.uri)).to.equal(renamed)
    }))

  it('caches at most the bounded bytes', () =>
    withProducer(
      async ({ root, store, producer }) => {
        const refs = []
        for (let at = 0; at < 3; at++) refs.push((await store.put(randomBytes(3000))).ref)
        const [one, two, three] = refs
        if (one === undefined || two === undefined || three === undefined)
          throw new Error('no refs')
        for (const ref of [one, two, one, three]) await producer.read(ref.uri)
        for (const ref of refs) damage(root, hexOf(ref))
        await producer.read(one.uri)
        await producer.read(three.uri)
        const failure = await failureOf(async () => producer.read(two.uri))
        expect(failure.code).to.equal('artefact_corrupt')
      },
      { blobCacheBytes: 18_500 },
    ))

  it('serves no cached body of a removed or expired artefact', () =>
    withProducer(
      async ({ store, producer, clock }) => {
        const one = (await store.put(randomBytes(9))).ref
        const two = (await store.put(randomBytes(9))).ref
        await producer.read(one.uri)
        await producer.read(two.uri)
        await store.remove(hexOf(one))
        const removed = await failureOf(async () => producer.read(one.uri))
        expect(removed).to.be.instanceOf(ResourceNotFound)
        clock.advance(1000)
        const expired = await failureOf(async () => producer.read(two.uri))
        expect(expired).to.be.instanceOf(ResourceNotFound)
      },
      { artefactTtlMs: 1000 },
    ))

  for (const size of [1000, 600_000]) {
    it(`fails once for a damaged body of ${size} bytes and finds none afterwards`, () =>
      withProducer(async ({ root, store, producer }) => {
        const { ref } = await store.put(randomBytes(size))
        damage(root, hexOf(ref))
        const failure = await failureOf(async () => producer.read(ref.uri))
        expect(failure.code).to.equal('artefact_corrupt')
        const again = await failureOf(async () => producer.read(ref.uri))
        expect(again).to.be.instanceOf(ResourceNotFound)
      }))
  }

  it('streams bodies too large for the cache, hashed once for each read', () =>
    withProducer(
      async ({ root, store, producer, work }) => {
        const bytes = randomBytes(1_000_000)
        const { ref } = await store.put(bytes, { mime: 'video/mp4' })
        const content = blobOf(await producer.read(ref.uri))
        const blob = content.blob as StreamedBlob
        expect(content.mimeType).to.equal('video/mp4')
        expect(blob.size).to.equal(1_000_000)
        expect((await collect(blob.open(() => {}))).equals(bytes)).to.equal(true)
        expect(sha256(await collect(blob.open(() => {})))).to.equal(hexOf(ref))
        expect(work.bodiesHashed).to.equal(2)
        damage(root, hexOf(ref))
        expect((await failureOf(() => collect(blob.open(() => {})))).code).to.equal(
          'artefact_corrupt',
        )
        expect(await failureOf(() => collect(blob.open(() => {})))).to.be.instanceOf(
          ResourceNotFound,
        )
      },
      { maxCachedBlobBytes: 999_999 },
    ))
})
