import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/lib/util/time.ts'
import type { ArtefactRef, ArtefactStore } from '../../src/server/artefacts/store.ts'
import { createFsStore } from '../../src/server/artefacts/fs-store.ts'
import { artefactRootIn } from '../../src/server/artefacts/helpers.ts'
import { cleanEnv, exitOf, runProgram, startProgram } from '../helpers/program.ts'
import { startServeProcess } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'
import { collect, noTimers, sha256 } from '../server/artefacts/support.ts'
import { newPlace, type Place, useBucketStores } from './bucket-stores.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type Swift, useSwift } from './swift.ts'

/** Empty when the program has ended. */
function statusOf(pid: number | undefined): string {
  try {
    return fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}

describe('artefacts migrate', () => {
  let postgres: Postgres
  let swift: Swift
  let bucket: string
  let place: Place
  let folder: string
  let files: string
  before(async function () {
    postgres = await startPostgres(this)
    swift = await useSwift(this)
    bucket = await swift.bucket()
  })
  after(() => postgres?.remove())
  beforeEach(async () => {
    place = await newPlace(postgres, bucket)
    folder = fs.mkdtempSync(join(tmpdir(), 'migrate-artefacts-'))
    files = join(folder, 'files')
    fs.mkdirSync(files, { mode: 0o700 })
  })
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }))
  const openBucket = useBucketStores(() => ({ postgres, swift }))

  const env = () => {
    const own = { XDG_DATA_HOME: folder, SERVICE_DATABASE_URL: place.database }
    return cleanEnv({ ...swift.env, ...own })
  }
  const args = (direction: '--to' | '--from', registryDir = files, ...more: string[]) => [
    'artefacts',
    'migrate',
    direction,
    place.bucket,
    '--registry-dir',
    registryDir,
    '--json',
    ...more,
  ]
  const migrate = (...given: Parameters<typeof args>) => runProgram(args(...given), { env: env() })

  async function inFiles<Value>(
    use: (store: ArtefactStore) => Promise<Value>,
    registryDir = files,
  ): Promise<Value> {
    const store = await createFsStore({ root: artefactRootIn(registryDir), limits: noTimers })
    try {
      return await use(store)
    } finally {
      await store.close()
    }
  }
  const fill = (count: number) =>
    inFiles(async store => {
      for (let at = 0; at < count; at++) await store.put(Buffer.from(`artefact ${at}`))
    })

  async function all(store: ArtefactStore): Promise<ArtefactRef[]> {
    const refs: ArtefactRef[] = []
    for (let after: string | undefined; ;) {
      const page = await store.page(after, 100)
      refs.push(...page.refs)
      if (page.next === undefined) return refs
      after = page.next
    }
  }
  const sha256Of = (ref: ArtefactRef | undefined) => ref?.digest.slice('sha256:'.length) ?? ''
  async function bytesOf(store: ArtefactStore, hex: string): Promise<Buffer> {
    const artefact = await store.open(hex)
    if (artefact === null) throw new Error(`${hex} is missing`)
    try {
      return await collect(artefact.verified())
    } finally {
      await artefact.close()
    }
  }

  it('copies bytes, metadata and times to the bucket, and back', async () => {
    const large = randomBytes(20_000_000)
    const refs = await inFiles(async store => {
      await store.put(large, { displayName: 'große.exr', mime: 'image/x-exr', jobId: 'job 1' })
      await store.put(new Uint8Array(), { metadata: { frames: [1, { to: 24 }] } })
      await store.put(Buffer.from('dated'), { expiresAt: '2099-01-01T00:00:00Z' })
      for (let at = 0; at < 30; at++) {
        await store.put(Buffer.from(`text ${at}`), { metadata: { at, text: 'x'.repeat(5000) } })
      }
      return all(store)
    })
    const there = await migrate('--to')
    expect(there.code, there.stderr).to.equal(0)
    const bytes = refs.reduce((sum, ref) => sum + ref.size_bytes, 0)
    const { documents, ...copied } = JSON.parse(there.stdout)
    expect(documents).to.include({ notes: 0, checkpoints: 0 })
    expect(copied).to.deep.equal({
      from: artefactRootIn(files),
      to: `${place.bucket}/`,
      artefacts: 33,
      bytes,
      copied: 33,
      damaged: 0,
    })
    const { store } = await openBucket(place, { clock: systemClock })
    expect(await all(store)).to.deep.equal(refs)
    expect((await bytesOf(store, sha256(large))).equals(large)).to.equal(true)

    const other = join(folder, 'other')
    fs.mkdirSync(other, { mode: 0o700 })
    const back = await migrate('--from', other)
    expect(back.code, back.stderr).to.equal(0)
    expect(JSON.parse(back.stdout)).to.include({ artefacts: 33, bytes, copied: 33 })
    await inFiles(async store => {
      expect(await all(store)).to.deep.equal(refs)
      expect((await bytesOf(store, sha256(large))).equals(large)).to.equal(true)
    }, other)
    expect(await inFiles(all)).to.deep.equal(refs)
  })

  it('is killed, and copies only what is missing when it is run again', async () => {
    await fill(150)
    const database = await postgres.open(place.database)
    const rows = () =>
      database.run('a test', queries =>
        queries.rows<{ hex: string; object: string }>(
          `SELECT hex, object FROM artefacts ORDER BY hex`,
        ),
      )
    const child = startProgram(args('--to'), { env: env() })
    await until(
      async () => (await rows().catch(() => [])).length > 20,
      'some of the artefacts are copied',
    )
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    const before = await rows()
    expect(before.length).to.be.within(21, 149)
    const again = await migrate('--to')
    expect(again.code, again.stderr).to.equal(0)
    const expected = { artefacts: 150, copied: 150 - before.length, damaged: 0 }
    expect(JSON.parse(again.stdout)).to.include(expected)
    // Their objects are the same.
    expect(await rows()).to.include.deep.members(before)
    expect(await rows()).to.have.length(150)
    await database.close()
  })

  it('holds parts of a large artefact only', async () => {
    const MiB = 1024 * 1024
    await inFiles(async store => {
      async function* pieces() {
        for (let at = 0; at < 256; at++) yield Buffer.alloc(MiB, at)
      }
      await store.put(pieces())
    })
    const child = startProgram(args('--to'), { env: env() })
    let peak = 0
    const looking = setInterval(() => {
      const status = statusOf(child.pid)
      peak = Math.max(peak, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024)
    }, 20)
    try {
      expect(await exitOf(child)).to.equal(0)
    } finally {
      clearInterval(looking)
    }
    // 180 MiB were seen, also with 1 GiB.
    expect(peak).to.be.within(MiB, 300 * MiB)
  })

  it('keeps the newest metadata and the later expiry of bytes that are at both ends', async () => {
    const { store } = await openBucket(place, { clock: { now: () => Date.now() - 10_000 } })
    const bytes = [Buffer.from('one'), Buffer.from('two')] as const
    await store.put(bytes[0], { displayName: 'old', expiresAt: '2099-01-01T00:00:00Z' })
    await inFiles(async own => {
      for (const each of bytes) await own.put(each, { displayName: 'new' })
    })
    for (const copied of [2, 0]) {
      const { stdout, stderr } = await migrate('--to')
      expect(JSON.parse(stdout || stderr)).to.include({ artefacts: 2, copied })
    }
    expect(await store.find(sha256(bytes[0]))).to.include({
      display_name: 'new',
      expires_at: '2099-01-01T00:00:00.000Z',
    })
  })

  it('finds a damaged copy, and copies it again', async () => {
    await fill(3)
    expect((await migrate('--to')).code).to.equal(0)
    const { store, damage } = await openBucket(place, { clock: systemClock })
    const [ref] = await all(store)
    const hex = sha256Of(ref)
    await damage(hex)
    const again = await migrate('--to')
    expect(again.code, again.stderr).to.equal(0)
    expect(JSON.parse(again.stdout)).to.include({ artefacts: 3, copied: 1, damaged: 0 })
    expect(sha256(await bytesOf(store, hex))).to.equal(hex)
  })

  it('names a damaged artefact, and copies all others', async () => {
    await fill(3)
    const [ref] = await inFiles(all)
    const hex = sha256Of(ref)
    const path = join(artefactRootIn(files), 'sha256', hex.slice(0, 2), hex)
    const bytes = fs.readFileSync(path)
    bytes[0] = (bytes[0] ?? 0) ^ 1
    fs.writeFileSync(path, bytes)
    const { code, stdout, stderr } = await migrate('--to')
    expect(code).to.equal(1)
    expect(stderr).to.contain(`artefact://sha256/${hex} is damaged`)
    expect(JSON.parse(stdout.split('\n')[0] ?? '')).to.include({ artefacts: 2, damaged: 1 })
    const { store } = await openBucket(place, { clock: systemClock })
    expect(await all(store)).to.have.length(2)
  })

  it('copies nothing while a server stores into the files, or when the bounds are too small', async () => {
    const server = await startServeProcess({ registryDir: files, flags: ['--capture', 'off'] })
    try {
      await server.store('some bytes')
      const refused = await migrate('--to')
      expect(refused.code).to.equal(1)
      expect(refused.stdout + refused.stderr).to.contain(
        `in use by service-cli (pid ${server.pid})`,
      )
    } finally {
      await server.stop()
    }
    await fill(3)
    const few = await migrate('--to', files, '--limit', 'maxArtefacts=3')
    expect(few.code).to.equal(1)
    expect(few.stdout + few.stderr).to.contain('would have 4, more than maxArtefacts=3')
    const small = await migrate('--to', files, '--limit', 'maxArtefactTotalBytes=20')
    expect(small.stdout + small.stderr).to.contain('more than maxArtefactTotalBytes=20')
    const { store } = await openBucket(place, { clock: systemClock })
    expect(await all(store)).to.deep.equal([])
    expect((await migrate('--to', files, '--limit', 'maxArtefacts=4')).code).to.equal(0)
  })
})
