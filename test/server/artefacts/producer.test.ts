import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { type Limits, resolveLimits } from '../../../src/lib/config/limits.ts'
import { type FsStore, createFsStore } from '../../../src/server/artefacts/fs-store.ts'
import { createArtefactProducer } from '../../../src/server/artefacts/producer.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../../src/server/resources/errors.ts'
import type {
  BlobContent,
  Content,
  EncodedBlob,
  StreamedBlob,
} from '../../../src/server/resources/producer.ts'
import { failureOf } from '../../helpers/failure.ts'
import { collect, settableClock, sha256, withFolder } from './support.ts'

interface Setup {
  root: string
  store: FsStore
  work: { bodiesHashed: number }
  clock: ReturnType<typeof settableClock>
  producer: ReturnType<typeof createArtefactProducer>
}

function withProducer(use: (setup: Setup) => Promise<void>, overrides: Partial<Limits> = {}) {
  return withFolder(async root => {
    const limits = resolveLimits(overrides)
    const clock = settableClock()
    const work = { shardChecks: 0, shardScans: 0, sidecarReads: 0, bodiesHashed: 0 }
    const store = await createFsStore({ root, limits, clock, work })
    const downloadUrl = (hex: string) => `http://127.0.0.1:1/artefacts/sha256/${hex}`
    const producer = createArtefactProducer({ store, limits, downloadUrl })
    await use({ root, store, work, clock, producer })
    await store.close()
  })
}

function blobOf(contents: readonly Content[]): BlobContent {
  const [content] = contents
  if (content === undefined || !('blob' in content)) throw new Error('not a blob')
  return content
}

function encodedOf(contents: readonly Content[]): string {
  return Buffer.from((blobOf(contents).blob as EncodedBlob).base64).toString('latin1')
}

function flipByte(root: string, hex: string): void {
  const path = join(root, 'sha256', hex.slice(0, 2), hex)
  const bytes = fs.readFileSync(path)
  bytes[0] = (bytes[0] ?? 0) ^ 1
  fs.writeFileSync(path, bytes)
}

const hexOf = (ref: { digest: string }) => ref.digest.slice('sha256:'.length)

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
            digest: ref.digest,
            session_id: null,
            tool_call_id: null,
            job_id: 'j',
            correlation_id: null,
            created_at: '2030-01-01T00:00:00.000Z',
            expires_at: null,
            metadata: { frame: 7 },
            download_url: `http://127.0.0.1:1/artefacts/sha256/${hexOf(ref)}`,
          },
        },
      })
      const hex = hexOf(plain)
      const named = { name: hex, title: `Artefact ${hex.slice(0, 12)}` }
      expect(byUri.get(plain.uri)).to.include(named)
    }))

  it('keeps nothing of a removed artefact', () =>
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

  it('counts what a small artefact costs in memory, not its bytes alone', () =>
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

  it('leaves the download address out when there is none', () =>
    withProducer(async ({ store }) => {
      await store.put(randomBytes(9))
      const limits = resolveLimits()
      const producer = createArtefactProducer({ store, limits, downloadUrl: () => null })
      const [descriptor] = await producer.list()
      expect(descriptor?._meta?.['service-cli/artefact']).to.not.have.property('download_url')
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

  it('shows the page of an unchanged store without a wait, and no expired artefact on it', () =>
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

  it('takes only the one form of URI', () =>
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

  it('reads a body once and returns the identical answer, the URI echoed', () =>
    withProducer(async ({ root, store, producer }) => {
      const { ref } = await store.put(randomBytes(300_000))
      const all = await Promise.all(Array.from({ length: 10 }, () => producer.read(ref.uri)))
      // Were the body read again, it would be found damaged.
      flipByte(root, hexOf(ref))
      expect(new Set(all).size).to.equal(1)
      expect(await producer.read(ref.uri)).to.equal(all[0])
      expect(Object.isFrozen(all[0])).to.equal(true)
      const withQuery = `${ref.uri}?x=1&x=2`
      const echoed = await producer.read(withQuery)
      expect(blobOf(echoed).uri).to.equal(withQuery)
      expect(encodedOf(echoed)).to.equal(encodedOf(all[0] ?? []))
      await store.put(Buffer.from(encodedOf(echoed), 'base64'), { mime: 'image/png' })
      const renamed = await producer.read(ref.uri)
      expect(blobOf(renamed).mimeType).to.equal('image/png')
      expect(await producer.read(ref.uri)).to.equal(renamed)
    }))

  it('keeps at most the bounded bytes', () =>
    withProducer(
      async ({ root, store, producer }) => {
        const refs = []
        for (let at = 0; at < 3; at++) refs.push((await store.put(randomBytes(3000))).ref)
        const [one, two, three] = refs
        if (one === undefined || two === undefined || three === undefined)
          throw new Error('no refs')
        for (const ref of [one, two, one, three]) await producer.read(ref.uri)
        for (const ref of refs) flipByte(root, hexOf(ref))
        await producer.read(one.uri)
        await producer.read(three.uri)
        const failure = await failureOf(async () => producer.read(two.uri))
        expect(failure.code).to.equal('artefact_corrupt')
      },
      { blobCacheBytes: 18_500 },
    ))

  it('serves no cached body of an artefact that was removed or expired', () =>
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
    it(`refuses a damaged body of ${size} bytes once and has none afterwards`, () =>
      withProducer(async ({ root, store, producer }) => {
        const { ref } = await store.put(randomBytes(size))
        flipByte(root, hexOf(ref))
        const failure = await failureOf(async () => producer.read(ref.uri))
        expect(failure.code).to.equal('artefact_corrupt')
        const again = await failureOf(async () => producer.read(ref.uri))
        expect(again).to.be.instanceOf(ResourceNotFound)
      }))
  }

  it('streams what is too large to keep, hashed once for each reader', () =>
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
        flipByte(root, hexOf(ref))
        expect((await failureOf(() => collect(blob.open(() => {})))).code).to.equal(
          'artefact_corrupt',
        )
        expect(await failureOf(() => collect(blob.open(() => {})))).to.be.instanceOf(
          ResourceNotFound,
        )
      },
      { maxCachedBlobBytes: 999_999 },
    ))

  it('has one template and completes its variable', () =>
    withProducer(async ({ store, producer, clock }) => {
      expect(producer.templates?.().map(each => each.uriTemplate)).to.deep.equal([
        'artefact://sha256/{hex}',
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
