import { expect } from 'chai'
import { resolveLimits } from '../../../src/lib/config/limits.ts'
import { createArtefactProducer } from '../../../src/server/artefacts/producer.ts'
import { ResourceNotFound } from '../../../src/server/resources/errors.ts'
import { hexOf, useStores } from './support.ts'

describe('smaller pictures of artefacts', () => {
  const openStore = useStores()

  it('are made once for each width, and not given for a file that was removed', async () => {
    const { store } = await openStore()
    const made: number[] = []
    const producer = createArtefactProducer({
      store,
      limits: resolveLimits({}),
      downloadUrl: () => null,
      async shrink(file, maxWidth) {
        made.push(maxWidth)
        return { png: file.slice(0, maxWidth), width: maxWidth, height: 1 }
      },
    })
    const { ref } = await store.put(Buffer.from('a picture'), { mime: 'image/png' })
    const read = async (width: number) => producer.read(`${ref.uri}?max_width=${width}`)
    const [first] = await Promise.all([read(4), read(4), read(2)])
    expect(await read(4)).to.deep.equal(first)
    expect(made).to.deep.equal([4, 2])
    await store.remove(hexOf(ref))
    const failure = await read(4).then(
      () => null,
      (error: unknown) => error,
    )
    expect(failure).to.be.instanceOf(ResourceNotFound)
  })
})
