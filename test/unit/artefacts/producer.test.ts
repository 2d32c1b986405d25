import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { createArtefactProducer } from '../../../src/server/artefacts/producer.ts'
import { ResourceNotFound } from '../../../src/server/resources/errors.ts'
import type { BlobContent, Content, EncodedBlob } from '../../../src/server/resources/producer.ts'
import { parseResourceUri } from '../../../src/server/resources/resource-uri.ts'
import type { SchemeProducer } from '../../../src/server/resources/scheme-producer.ts'
import { failureOf } from '../../helpers/failure.ts'
import { damage, hexOf, shrink, useStores, withProducer } from './support.ts'

async function readAt(producer: SchemeProducer, text: string): Promise<readonly Content[]> {
  const uri = parseResourceUri(text)
  if (!uri.ok) throw new Error(uri.failure)
  return producer.read(uri.value)
}

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
      const first = await readAt(producer, ref.uri)
      expect(await readAt(producer, ref.uri)).to.equal(first)
      await store.remove(hexOf(ref))
      expect(await failureOf(async () => readAt(producer, ref.uri))).to.be.instanceOf(
        ResourceNotFound,
      )
    }))

  it('reads a body once and returns the identical answer with the URI echoed', () =>
    withProducer(async ({ root, store, producer }) => {
      const { ref } = await store.put(randomBytes(300_000))
      const all = await Promise.all(Array.from({ length: 10 }, () => readAt(producer, ref.uri)))
      // Were the body read again, it would be found damaged.
      damage(root, hexOf(ref))
      expect(new Set(all).size).to.equal(1)
      expect(await readAt(producer, ref.uri)).to.equal(all[0])
      expect(Object.isFrozen(all[0])).to.equal(true)
      const withQuery = `${ref.uri}?x=1&y=2`
      const echoed = await readAt(producer, withQuery)
      expect(blobOf(echoed).uri).to.equal(withQuery)
      expect(encodedOf(echoed)).to.equal(encodedOf(all[0] ?? []))
      await store.put(Buffer.from(encodedOf(echoed), 'base64'), { mime: 'image/png' })
      const renamed = await readAt(producer, ref.uri)
      expect(blobOf(renamed).mimeType).to.equal('image/png')
      expect(await readAt(producer, ref.uri)).to.equal(renamed)
    }))

  const useStore = useStores()
  it('of a smaller picture make it once for each width, and not of a file that was removed', async () => {
    const { store } = await useStore()
    const made: number[] = []
    const producer = createArtefactProducer({
      store,
      downloadUrl: () => null,
      async shrink(file, maxWidth) {
        made.push(maxWidth)
        return { png: file.slice(0, maxWidth), width: maxWidth, height: 1 }
      },
    })
    const { ref } = await store.put(Buffer.from('a picture'), { mime: 'image/png' })
    const read = async (width: number) => readAt(producer, `${ref.uri}?max_width=${width}`)
    const [first] = await Promise.all([read(4), read(4), read(2)])
    expect(await read(4)).to.deep.equal(first)
    expect(made).to.have.members([4, 2])
    await store.remove(hexOf(ref))
    expect(await failureOf(() => read(4))).to.be.instanceOf(ResourceNotFound)
  })

  it('list no download address when there is none', () =>
    withProducer(async ({ store }) => {
      await store.put(randomBytes(9))
      const producer = createArtefactProducer({ store, downloadUrl: () => null, shrink })
      const page = await producer.page?.(undefined, 9)
      const [descriptor] = page?.descriptors ?? []
      expect(descriptor).to.include({ size: 9 })
      expect(descriptor).to.not.have.property('_meta')
    }))
})
