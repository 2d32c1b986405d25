import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { createArtefactProducer } from '../../../src/server/artefacts/producer.ts'
import { ResourceNotFound } from '../../../src/server/resources/errors.ts'
import type { BlobContent, Content, EncodedBlob } from '../../../src/server/resources/producer.ts'
import { parseResourceUri } from '../../../src/server/resources/resource-uri.ts'
import { failureOf } from '../../helpers/failure.ts'
import { hexOf, useStores } from './support.ts'

function blobOf([content]: readonly Content[]): BlobContent {
  if (content === undefined || !('blob' in content)) throw new Error('not a blob')
  return content
}

const base64Of = (contents: readonly Content[]) =>
  Buffer.from((blobOf(contents).blob as EncodedBlob).base64).toString('latin1')

describe('reads of the artefact producer', () => {
  const useStore = useStores()
  /** Widths of the smaller pictures that were made. */
  let made: number[]

  async function start() {
    made = []
    const { store, damage } = await useStore()
    const producer = createArtefactProducer({
      store,
      downloadUrl: () => null,
      async shrink(file, maxWidth) {
        made.push(maxWidth)
        return { png: file.slice(0, maxWidth), width: maxWidth, height: 1 }
      },
    })
    const read = async (text: string): Promise<readonly Content[]> => {
      const uri = parseResourceUri(text)
      if (!uri.ok) throw new Error(uri.failure)
      return producer.read(uri.value)
    }
    return { store, damage, producer, read }
  }

  it('read a body once and return the identical answer with the URI echoed', async () => {
    const { store, damage, read } = await start()
    const { ref } = await store.put(randomBytes(300_000))
    const all = await Promise.all(Array.from({ length: 10 }, () => read(ref.uri)))
    // Were the body read again, it would be found damaged.
    await damage(hexOf(ref))
    expect(new Set(all).size).to.equal(1)
    expect(await read(ref.uri)).to.equal(all[0])
    const withQuery = `${ref.uri}?x=1&y=2`
    const echoed = await read(withQuery)
    expect(blobOf(echoed).uri).to.equal(withQuery)
    expect(base64Of(echoed)).to.equal(base64Of(all[0] ?? []))
    await store.put(Buffer.from(base64Of(echoed), 'base64'), { mime: 'image/png' })
    expect(blobOf(await read(ref.uri)).mimeType).to.equal('image/png')
    await store.remove(hexOf(ref))
    expect(await failureOf(() => read(ref.uri))).to.be.instanceOf(ResourceNotFound)
  })

  it('make a smaller picture once for each width, and none of a file that was removed', async () => {
    const { store, read } = await start()
    const { ref } = await store.put(Buffer.from('a picture'), { mime: 'image/png' })
    const smaller = (width: number) => read(`${ref.uri}?max_width=${width}`)
    const [first] = await Promise.all([smaller(4), smaller(4), smaller(2)])
    expect(await smaller(4)).to.deep.equal(first)
    expect(made).to.have.members([4, 2])
    await store.remove(hexOf(ref))
    expect(await failureOf(() => smaller(4))).to.be.instanceOf(ResourceNotFound)
  })

  it('list no download address when there is none', async () => {
    const { store, producer } = await start()
    await store.put(randomBytes(9))
    const [descriptor] = (await producer.page?.(undefined, 9))?.descriptors ?? []
    expect(descriptor).to.include({ size: 9 }).and.not.have.property('_meta')
  })
})
