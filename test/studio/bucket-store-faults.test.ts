import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { until } from '../helpers/until.ts'
import { failureOf } from '../helpers/failure.ts'
import { settableClock } from '../helpers/settable-clock.ts'
import { bytesOf, collect, hexOf, opened, sha256 } from '../unit/artefacts/support.ts'
import { newPlace, type Place, useBucketStores } from './bucket-stores.ts'
import { type Mangled, startManglingProxy } from './mangling-proxy.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type Swift, useSwift } from './swift.ts'

const script = join(import.meta.dirname, 'scripts', 'put-to-bucket.ts')
const day = 24 * 60 * 60 * 1000
const minute = 60 * 1000

describe('artefacts in a bucket, when something fails', () => {
  let postgres: Postgres
  let swift: Swift
  let bucket: string
  let place: Place
  before(async function () {
    postgres = await startPostgres(this)
    swift = await useSwift(this)
    bucket = await swift.bucket()
  })
  after(() => postgres?.remove())
  beforeEach(async () => {
    place = await newPlace(postgres, bucket)
  })
  const open = useBucketStores(() => ({ postgres, swift }))

  const proxies: Mangled[] = []
  afterEach(() => {
    for (const proxy of proxies.splice(0)) proxy.close()
  })

  async function* pieces(...parts: Uint8Array[]) {
    yield* parts
  }

  it('lists nothing of a put that was killed, and the sweep removes its object', async () => {
    const clock = settableClock(Date.now())
    const { store, bucket: objects, spare } = await open(place, { clock })
    const child = spawn(process.execPath, [script, place.bucket, place.database], {
      env: { ...process.env, ...swift.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect((await store.page(undefined, 10)).refs).to.deep.equal([])
    const [key = ''] = await spare()
    expect(await openUploads(key)).to.equal(1)
    clock.advance(day - minute)
    await store.sweep()
    expect(await openUploads(key)).to.equal(1)
    clock.advance(2 * minute)
    await store.sweep()
    expect(await openUploads(key)).to.equal(0)
    expect(await objects.head(key)).to.equal(null)
    expect(await spare()).to.deep.equal([])
  })

  it('gives a hash one object when two servers store the same bytes', async () => {
    const stores = [await open(place), await open(place)]
    const bytes = randomBytes(100_000)
    const puts = await Promise.all(
      stores.flatMap(({ store }) => [1, 2, 3].map(() => store.put(pieces(bytes)))),
    )
    expect(puts.filter(({ existed }) => !existed)).to.have.length(1)
    for (const { store, spare } of stores) {
      expect((await store.page(undefined, 10)).refs).to.have.length(1)
      expect((await bytesOf(store, sha256(bytes))).equals(bytes)).to.equal(true)
      // The objects that were not used went at once.
      expect(await spare()).to.deep.equal([])
    }
    expect(await objectCount()).to.equal(1)
  })

  it('tells another server of what was stored and removed', async () => {
    const [one, two] = [await open(place), await open(place)]
    const removed: string[] = []
    let changes = 0
    two.store.onChange(() => changes++)
    two.store.onRemove(hex => removed.push(hex))
    const hex = hexOf((await one.store.put(randomBytes(8))).ref)
    await until(() => changes === 1, 'the put is told')
    expect(await two.store.find(hex)).to.not.equal(null)
    expect((await two.store.page(undefined, 10)).refs).to.have.length(1)
    await one.store.remove(hex)
    await until(() => changes === 2, 'the removal is told')
    expect(removed).to.deep.equal([hex])
    expect((await two.store.page(undefined, 10)).refs).to.deep.equal([])
  })

  it('uploads nothing when the bytes are there, and again when their object is lost', async () => {
    const proxy = await startManglingProxy(swift.url)
    proxies.push(proxy)
    const { store, bucket: objects, keyOf } = await open(place, { endpoint: proxy.url })
    const bytes = randomBytes(1000)
    await store.put(bytes)
    proxy.requests.length = 0
    expect((await store.put(bytes, { displayName: 'new' })).existed).to.equal(true)
    expect(proxy.requests.filter(line => line.startsWith('PUT'))).to.deep.equal([])
    const hex = sha256(bytes)
    expect((await store.find(hex))?.display_name).to.equal('new')

    for (const source of [() => bytes, () => pieces(bytes)]) {
      const key = await keyOf(hex)
      await objects.remove(key)
      const failure = await failureOf(() => store.open(hex))
      expect(failure.code, failure.message).to.equal('artefact_corrupt')
      expect(failure.message).to.contain('is missing in s3://')
      expect((await store.put(source())).existed).to.equal(false)
      expect(await keyOf(hex)).to.not.equal(key)
      expect((await bytesOf(store, hex)).equals(bytes)).to.equal(true)
    }
  })

  describe('between it and the bucket', () => {
    let proxy: Mangled
    beforeEach(async () => {
      proxy = await startManglingProxy(swift.url)
      proxies.push(proxy)
    })

    const size = 3_000_000
    async function stored() {
      const there = await open(place, { endpoint: proxy.url })
      const bytes = randomBytes(size)
      await there.store.put(bytes)
      const artefact = await opened(there.store, sha256(bytes))
      proxy.requests.length = 0
      return { ...there, bytes, artefact }
    }
    const gets = () => proxy.requests.filter(line => line.startsWith('GET')).length

    it('reads on where a connection was cut', async () => {
      const { bytes, artefact } = await stored()
      let cuts = 0
      proxy.mangle = (_, piece, at) => (at > 1_000_000 && cuts++ < 2 ? null : piece)
      expect((await collect(artefact.verified())).equals(bytes)).to.equal(true)
      expect(gets()).to.be.greaterThan(1)
      cuts = 0
      const part = await collect(artefact.range(100, 2_900_000))
      expect(part.equals(bytes.subarray(100, 2_900_000))).to.equal(true)
      await artefact.close()
    })

    it('keeps an artefact of which one byte changed on the way', async () => {
      const { bytes, artefact } = await stored()
      let isSpoilt = false
      proxy.mangle = (req, piece) => {
        if (req.method === 'GET' && !isSpoilt) piece[0] = (piece[0] ?? 0) ^ 1
        if (req.method === 'GET') isSpoilt = true
        return piece
      }
      const failure = await failureOf(() => collect(artefact.verified()))
      expect(failure.code).to.equal('storage_unavailable')
      expect(failure.message).to.contain('was changed in transit')
      expect((await collect(artefact.verified())).equals(bytes)).to.equal(true)
      await artefact.close()
    })

    it('does not mix two objects in one answer', async () => {
      const { bucket: objects, keyOf, bytes, artefact } = await stored()
      const key = await keyOf(sha256(bytes))
      const pending = artefact.range(0, size)[Symbol.asyncIterator]()
      let isChanged = false
      proxy.mangle = (_, piece, at) => (at > 1_000_000 && !isChanged ? null : piece)
      await pending.next()
      await objects.put(key, pieces(randomBytes(size)))
      isChanged = true
      const failure = await failureOf(async () => {
        while ((await pending.next()).done !== true);
      })
      expect(failure.message).to.contain('changed while it was read')
      await artefact.close()
    })
  })

  describe('at the start', () => {
    it('refuses the bucket of another installation', async () => {
      await open(place)
      const other = { ...place, database: await postgres.schema() }
      const failure = await failureOf(() => open(other))
      expect(failure.code).to.equal('config_invalid')
      expect(failure.message).to.contain('belongs to another installation')
    })

    it('refuses a bucket without the artefacts of the database', async () => {
      const { store } = await open(place)
      await store.put(randomBytes(8))
      const { bucket: other } = await newPlace(postgres, bucket)
      const failure = await failureOf(() => open({ ...place, bucket: other }))
      expect(failure.code).to.equal('config_invalid')
      expect(failure.message).to.contain('has none of the 1 artefacts')
    })
  })

  /** The bucket, and the prefix of the objects of this test in it. */
  function inBucket(key: string) {
    const [, , Bucket = '', prefix = ''] = place.bucket.split('/')
    return { Bucket, Prefix: `${prefix}/${key}` }
  }

  async function openUploads(key: string): Promise<number> {
    const { Uploads = [] } = await swift.withClient((client, s3) =>
      client.send(new s3.ListMultipartUploadsCommand(inBucket(key))),
    )
    return Uploads.length
  }

  async function objectCount(): Promise<number> {
    const { Contents = [] } = await swift.withClient((client, s3) =>
      client.send(new s3.ListObjectsV2Command(inBucket('o/'))),
    )
    return Contents.length
  }
})
