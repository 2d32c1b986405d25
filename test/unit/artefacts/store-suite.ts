import { expect } from 'chai'
import { createHash, randomBytes } from 'node:crypto'
import { failureOf } from '../../helpers/failure.ts'
import { settableClock } from '../../helpers/fakes.ts'
import { bytesOf, collect, type CreateStore, hexOf, opened, sha256 } from './support.ts'

/** What every artefact store does, also about its bounds and about damage. `create` opens a new one. */
export function describeArtefactStore(title: string, create: CreateStore): void {
  describe(`an artefact store: ${title}`, () => describeStore(create))
}

function describeStore(create: CreateStore): void {
  it('returns the bytes and the metadata that were put', async () => {
    const { store } = await create()
    const bytes = randomBytes(1_000_000)
    const hex = sha256(bytes)
    const { ref, existed } = await store.put(bytes, {
      mime: 'model/gltf-binary',
      display_name: 'chair.glb',
      session_id: 's',
      tool_call_id: 't',
      job_id: 'j',
      correlation_id: 'c',
      expires_at: '2031-01-01T00:00:00.000Z',
      metadata: { frame: 7 },
    })
    expect(existed).to.equal(false)
    expect(ref).to.deep.equal({
      uri: `artefact://sha256/${hex}`,
      mime: 'model/gltf-binary',
      size_bytes: 1_000_000,
      display_name: 'chair.glb',
      digest: `sha256:${hex}`,
      session_id: 's',
      tool_call_id: 't',
      job_id: 'j',
      correlation_id: 'c',
      instance_id: null,
      dcc_type: null,
      created_at: '2030-01-01T00:00:00.000Z',
      expires_at: '2031-01-01T00:00:00.000Z',
      metadata: { frame: 7 },
    })
    expect(await store.find(hex)).to.deep.equal(ref)
    await using artefact = await store.open(hex)
    expect(artefact?.ref).to.deep.equal(ref)
    if (artefact === null) return
    expect((await collect(artefact.verified())).equals(bytes)).to.equal(true)
    const part = await collect(artefact.range(399_999, 800_001))
    expect(part.equals(bytes.subarray(399_999, 800_001))).to.equal(true)
    expect((await collect(artefact.range(999_998, 5_000_000))).length).to.equal(2)
  })

  it('accepts a stream and an empty artefact', async () => {
    const { store } = await create()
    const pieces = [randomBytes(3), randomBytes(0), randomBytes(70_000)]
    const { ref } = await store.put(
      (async function* () {
        yield* pieces
      })(),
    )
    expect(ref.digest).to.equal(`sha256:${sha256(Buffer.concat(pieces))}`)
    const empty = await store.put(new Uint8Array())
    expect(empty.ref.size_bytes).to.equal(0)
    expect(await bytesOf(store, sha256(Buffer.alloc(0)))).to.have.length(0)
  })

  it('stores the bytes that a stream had when it gave them, though it uses its memory again', async () => {
    const { store } = await create()
    const memory = Buffer.alloc(100_000)
    const hash = createHash('sha256')
    const { ref } = await store.put(
      (async function* () {
        for (let at = 0; at < 200; at++) {
          hash.update(memory.fill(at))
          yield memory
        }
      })(),
    )
    expect(ref.digest).to.equal(`sha256:${hash.digest('hex')}`)
    expect(`sha256:${sha256(await bytesOf(store, hexOf(ref)))}`).to.equal(ref.digest)
  })

  it('finds nothing for an unknown or malformed hash', async () => {
    const { store } = await create()
    for (const hex of ['0'.repeat(64), 'A'.repeat(64), '../../etc/passwd', '']) {
      expect(await store.find(hex)).to.equal(null)
      expect(await store.open(hex)).to.equal(null)
      expect(await store.remove(hex)).to.equal(false)
    }
  })

  it('keeps one entry with the newest metadata and the later expiry', async () => {
    const clock = settableClock()
    const { store } = await create({ limits: { artefactTtlMs: 1000_000 }, clock })
    const bytes = randomBytes(10)
    const late = '2030-06-01T00:00:00.000Z'
    await store.put(bytes, { mime: 'text/plain', display_name: 'old', expires_at: late })
    clock.advance(1000)
    const again = await store.put(bytes, {
      mime: 'image/png',
      expires_at: '2030-02-01T00:00:00.000Z',
    })
    expect(again.existed).to.equal(true)
    expect(again.ref).to.include({ mime: 'image/png', display_name: null, expires_at: late })
    expect(again.ref.created_at).to.equal('2030-01-01T00:00:01.000Z')
    expect((await store.page(undefined, 10)).refs).to.deep.equal([again.ref])
    const later = await store.put(bytes, { expires_at: '2030-07-01T00:00:00.000Z' })
    expect(later.ref.expires_at).to.equal('2030-07-01T00:00:00.000Z')
  })

  it('keeps one complete entry when the same bytes are put concurrently', async () => {
    const { store } = await create()
    const bytes = randomBytes(100_000)
    const days = Array.from({ length: 20 }, (_, at) => String(at + 1).padStart(2, '0'))
    const results = await Promise.all(
      days.map(day => store.put(bytes, { expires_at: `2030-02-${day}T00:00:00.000Z` })),
    )
    expect(results.filter(result => !result.existed)).to.have.length(1)
    const { refs } = await store.page(undefined, 10)
    expect(refs).to.have.length(1)
    expect(refs[0]?.expires_at).to.equal('2030-02-20T00:00:00.000Z')
    expect((await bytesOf(store, sha256(bytes))).equals(bytes)).to.equal(true)
  })

  it('refuses a stream as soon as it is too large and stays usable', async () => {
    const { store } = await create({ limits: { maxArtefactBytes: 1000 } })
    let taken = 0
    const endless = (async function* () {
      for (; taken < 100; taken++) yield new Uint8Array(600)
    })()
    expect((await failureOf(() => store.put(endless))).code).to.equal('artefact_too_large')
    expect(taken).to.be.lessThan(3)
    expect((await store.put(new Uint8Array(1000))).ref.size_bytes).to.equal(1000)
    expect((await store.page(undefined, 10)).refs).to.have.length(1)
  })

  it('rethrows the error of a failing source and stores nothing', async () => {
    const { store } = await create()
    const gone = Object.assign(new Error('gone'), { code: 'ECONNRESET', errno: -104 })
    const failing = (async function* () {
      yield new Uint8Array(10)
      throw gone
    })()
    let caught: unknown
    await store.put(failing).catch(error => (caught = error))
    expect(caught).to.equal(gone)
    expect((await store.page(undefined, 10)).refs).to.deep.equal([])
  })

  it('lists newest first in pages whose cursors outlive their entry', async () => {
    const clock = settableClock()
    const { store } = await create({ clock })
    const names: string[] = []
    for (let at = 0; at < 7; at++) {
      names.unshift(`n${at}`)
      await store.put(randomBytes(8), { display_name: `n${at}` })
      clock.advance(1)
    }
    const first = await store.page(undefined, 3)
    expect(first.refs.map(ref => ref.display_name)).to.deep.equal(names.slice(0, 3))
    const last = first.refs[2]
    expect(await store.remove(last?.digest.slice(7) ?? '')).to.equal(true)
    await store.put(randomBytes(8), { display_name: 'new' })
    const second = await store.page(first.next, 3)
    expect(second.refs.map(ref => ref.display_name)).to.deep.equal(names.slice(3, 6))
    const third = await store.page(second.next, 3)
    expect(third.refs.map(ref => ref.display_name)).to.deep.equal(names.slice(6))
    expect(third.next).to.equal(undefined)
    const exact = await store.page(undefined, 7)
    expect([exact.refs.length, exact.next]).to.deep.equal([7, undefined])
    for (const cursor of ['', 'nonsense', 'MS4w']) {
      const failure = await failureOf(() => store.page(cursor, 3))
      expect(failure.code).to.equal('resource_uri_invalid')
    }
  })

  it('never serves an expired artefact and removes it at the next look', async () => {
    const clock = settableClock()
    const { store } = await create({ limits: { artefactTtlMs: 10_000 }, clock })
    const own = hexOf((await store.put(randomBytes(8))).ref)
    const dated = await store.put(randomBytes(8), {
      expires_at: new Date(clock.now() + 20_000).toISOString(),
    })
    const hex = hexOf(dated.ref)
    clock.advance(9_999)
    expect(await store.find(own)).to.not.equal(null)
    let changes = 0
    store.onChange(() => changes++)
    clock.advance(1)
    expect(await store.find(own)).to.equal(null)
    expect(await store.open(own)).to.equal(null)
    expect((await store.page(undefined, 10)).refs).to.deep.equal([dated.ref])
    await store.refresh()
    expect(changes).to.be.greaterThan(0)
    expect(await store.remove(own)).to.equal(false)
    clock.advance(10_000)
    expect(await store.find(hex)).to.equal(null)
    expect((await store.put(randomBytes(8))).existed).to.equal(false)
  })

  it('keeps everything when the bounds are 0', async () => {
    const clock = settableClock()
    const bounds = { artefactTtlMs: 0, maxArtefactTotalBytes: 0 }
    const { store } = await create({
      limits: { ...bounds, maxArtefactBytes: 0 },
      maxArtefacts: 0,
      clock,
    })
    const bytes = randomBytes(8)
    await store.put(bytes)
    const { ref } = await store.put(bytes, {
      expires_at: new Date(clock.now() + 1000).toISOString(),
    })
    clock.advance(100 * 365 * 24 * 3600_000)
    await store.refresh()
    expect(await store.find(hexOf(ref))).to.deep.equal(ref)
  })

  it('removes the oldest artefacts beyond the number or the total bytes', async () => {
    const clock = settableClock()
    const { store } = await create({
      limits: { maxArtefactTotalBytes: 1000 },
      maxArtefacts: 3,
      clock,
    })
    const names = async () => (await store.page(undefined, 9)).refs.map(ref => ref.display_name)
    const put = async (name: string, size: number) => {
      clock.advance(1)
      await store.put(randomBytes(size), { display_name: name })
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

  for (const size of [16, 2_000_000]) {
    it(`never completes a damaged body of ${size} bytes, until the bytes are stored again`, async () => {
      const { store, damage } = await create()
      const bytes = randomBytes(size)
      const hex = sha256(bytes)
      await store.put(bytes)
      await damage(hex)
      let received = 0
      const failure = await failureOf(async () => {
        await using artefact = await opened(store, hex)
        for await (const piece of artefact.verified()) received += piece.byteLength
      })
      expect(failure.code).to.equal('artefact_corrupt')
      expect(received).to.be.lessThan(size)
      await store.put(bytes)
      expect((await bytesOf(store, hex)).equals(bytes)).to.equal(true)
    })
  }
}
