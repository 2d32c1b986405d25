import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { failureOf } from '../helpers/failure.ts'
import { settableClock } from '../helpers/settable-clock.ts'
import { collect, type CreateStore, sha256 } from '../unit/artefacts/support.ts'

/** What every artefact store does about its bounds and about damage. `create` opens a new one. */
export function describeStoreBounds(title: string, create: CreateStore): void {
  describe(`bounds of an artefact store: ${title}`, () => describeBounds(create))
}

function describeBounds(create: CreateStore): void {
  it('never serves an expired artefact and removes it at the sweep', async () => {
    const clock = settableClock()
    const { store } = await create({ artefactTtlMs: 10_000 }, clock)
    const own = (await store.put(randomBytes(8))).ref.digest.slice(7)
    const dated = await store.put(randomBytes(8), { expiresAt: new Date(clock.now() + 20_000) })
    const hex = dated.ref.digest.slice(7)
    clock.advance(9_999)
    expect(await store.find(own)).to.not.equal(null)
    clock.advance(1)
    expect(await store.find(own)).to.equal(null)
    expect(await store.open(own)).to.equal(null)
    expect((await store.page(undefined, 10)).refs).to.deep.equal([dated.ref])
    expect(await store.startingWith('', 10)).to.deep.equal([hex])
    let changes = 0
    store.onChange(() => changes++)
    await store.sweep()
    expect(changes).to.equal(1)
    expect(await store.remove(own)).to.equal(false)
    clock.advance(10_000)
    expect(await store.find(hex)).to.equal(null)
    expect((await store.put(randomBytes(8))).existed).to.equal(false)
  })

  it('keeps everything when the bounds are 0', async () => {
    const clock = settableClock()
    const bounds = { artefactTtlMs: 0, maxArtefacts: 0, maxArtefactTotalBytes: 0 }
    const { store } = await create({ ...bounds, maxArtefactBytes: 0 }, clock)
    const { ref } = await store.put(randomBytes(8))
    clock.advance(100 * 365 * 24 * 3600_000)
    await store.sweep()
    expect(await store.find(ref.digest.slice(7))).to.deep.equal(ref)
  })

  it('removes the oldest artefacts beyond the number or the total bytes', async () => {
    const clock = settableClock()
    const { store } = await create({ maxArtefacts: 3, maxArtefactTotalBytes: 1000 }, clock)
    const names = async () => (await store.page(undefined, 9)).refs.map(ref => ref.display_name)
    const put = async (displayName: string, size: number) => {
      clock.advance(1)
      await store.put(randomBytes(size), { displayName })
    }
    for (const name of ['a', 'b', 'c', 'd']) await put(name, 10)
    expect(await names()).to.deep.equal(['d', 'c', 'b'])
    await put('e', 985)
    expect(await names()).to.deep.equal(['e', 'd'])
    await put('f', 1000)
    expect(await names()).to.deep.equal(['f'])
    const failure = await failureOf(() => store.put(randomBytes(1001)))
    expect(failure.code).to.equal('artefact_too_large')
    expect(await names()).to.deep.equal(['f'])
  })

  it('notifies listeners after a put and a removal', async () => {
    const { store } = await create()
    const seen: number[] = []
    const stop = store.onChange(() => seen.push(1))
    const stopFailing = store.onChange(() => {
      throw new Error('a listener that fails')
    })
    const { ref } = await store.put(randomBytes(8))
    expect(seen).to.have.length(1)
    await store.find(ref.digest.slice(7))
    await store.page(undefined, 10)
    expect(seen).to.have.length(1)
    await store.remove(ref.digest.slice(7))
    expect(seen).to.have.length(2)
    stop()
    stopFailing()
    await store.put(randomBytes(8))
    expect(seen).to.have.length(2)
  })

  for (const size of [0x10, 400_000, 2_000_000]) {
    it(`never completes a damaged body of ${size} bytes and removes it`, async () => {
      const { store, damage } = await create()
      const bytes = randomBytes(size)
      const hex = sha256(bytes)
      await store.put(bytes)
      await damage(hex)
      const artefact = await store.open(hex)
      if (artefact === null) throw new Error('not stored')
      let received = 0
      const failure = await failureOf(async () => {
        for await (const piece of artefact.verified()) received += piece.byteLength
      })
      await artefact.close()
      expect(failure.code).to.equal('artefact_corrupt')
      expect(received).to.be.lessThan(size)
      expect(await store.find(hex)).to.equal(null)
      expect((await store.page(undefined, 10)).refs).to.deep.equal([])
      expect((await store.put(bytes)).existed).to.equal(false)
      expect(await store.find(hex)).to.not.equal(null)
    })
  }

  it('reads an open artefact to its end after its removal', async () => {
    const { store } = await create()
    const bytes = randomBytes(900_000)
    await store.put(bytes)
    const artefact = await store.open(sha256(bytes))
    if (artefact === null) throw new Error('not stored')
    await store.remove(sha256(bytes))
    expect((await collect(artefact.verified())).equals(bytes)).to.equal(true)
    await artefact.close()
  })
}
