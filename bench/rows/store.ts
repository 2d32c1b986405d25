import { createHash, randomBytes, randomFillSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { ArtefactFolder } from '../../src/server/artefacts/folder.ts'
import { type ArtefactRef, ArtefactStore } from '../../src/server/artefacts/store.ts'
import type { Bench } from '../bench.ts'
import { compare, type Entry } from '../compare.ts'
import { blobBytes } from '../fixture.ts'
import { putDurably } from '../servers/plain-files.ts'
import { median } from '../stats.ts'
import type { Measured } from '../table.ts'

const pageSize = 500

/** Durable puts of 4 MiB, in this process, beside the file work they consist of. */
export async function measureStorePut(bench: Bench): Promise<Measured> {
  const count = bench.pick(20, 10)
  const plain = join(bench.folder, 'plain-puts')
  const store = new ArtefactStore(new ArtefactFolder(mkdtempSync(join(bench.folder, 'store-'))))
  const puts: readonly (readonly [string, (bytes: Buffer) => Promise<unknown>])[] = [
    ['file work', bytes => putDurably(plain, bytes)],
    ['file work again', bytes => putDurably(plain, bytes)],
    ['store.put', bytes => store.put(bytes)],
  ]
  for (const [, put] of puts) await putsPerSecond(put, 5)
  const entries: Entry[] = puts.map(([name, put]) => ({
    name,
    measure: async () => ({ putsPerSecond: await putsPerSecond(put, count) }),
  }))
  const { rounds, notes } = await compare(entries, bench.pick(5, 3))
  await store.close()
  return {
    name: 'store-put',
    title: 'durable put of 4 MiB, in process',
    reference: 'file work',
    columns: [
      { title: 'ratio', figure: 'putsPerSecond', show: 'ratio' },
      { title: 'puts/s', figure: 'putsPerSecond', show: 'value' },
    ],
    rounds,
    notes: ['file work: SHA-256, write, fsync, rename, fsync of the folder', ...notes],
  }
}

async function putsPerSecond(
  put: (bytes: Buffer) => Promise<unknown>,
  count: number,
): Promise<number> {
  const bytes = randomFillSync(Buffer.alloc(blobBytes))
  const started = performance.now()
  for (let i = 0; i < count; i++) {
    bytes.writeUInt32LE(i, 0)
    await put(bytes)
  }
  return (count / (performance.now() - started)) * 1000
}

/** Pages of a listing, in process: the first, and one from the middle. */
export async function measurePage(bench: Bench): Promise<Measured> {
  const count = bench.pick(100_000, 10_000)
  const root = mkdtempSync(join(bench.folder, 'many-'))
  layOut(root, count)
  const started = performance.now()
  const store = new ArtefactStore(new ArtefactFolder(root))
  await store.start()
  const openMs = performance.now() - started
  let middle: string | undefined
  let listed = 0
  for (let pages = 0; pages <= count / pageSize; pages++) {
    const page = await store.page(middle, pageSize)
    listed += page.refs.length
    if (page.next === undefined || listed >= count / 2) break
    middle = page.next
  }
  const entries: Entry[] = [
    { name: 'first page', measure: () => timePages(store, undefined) },
    { name: 'page in the middle', measure: () => timePages(store, middle) },
    { name: 'first page after a put', measure: () => timePages(store, undefined, true) },
    { name: 'middle page after a put', measure: () => timePages(store, middle, true) },
  ]
  const { rounds, notes } = await compare(entries, bench.pick(5, 3))
  await store.close()
  return {
    name: 'page',
    title: `page of ${pageSize} among ${count.toLocaleString('en-GB')} artefacts, in process`,
    reference: 'first page',
    columns: [
      { title: 'ms', figure: 'ms', show: 'value' },
      { title: 'artefacts', figure: 'artefacts', show: 'value' },
    ],
    rounds,
    notes: [
      `opening the store, which reads every sidecar, took ${Math.round(openMs)} ms`,
      ...notes,
    ],
  }
}

async function timePages(
  store: ArtefactStore,
  after: string | undefined,
  /** An unchanged page is remembered: only after a change it is made anew. */
  changed = false,
): Promise<{ ms: number; artefacts: number }> {
  const times: number[] = []
  let artefacts = 0
  for (let i = 0; i < 20; i++) {
    if (changed) await store.put(randomBytes(8))
    const started = performance.now()
    artefacts = (await store.page(after, pageSize)).refs.length
    times.push(performance.now() - started)
  }
  return { ms: median(times), artefacts }
}

/** Writes what the store would have written (docs/resources.md), without its fsyncs. */
function layOut(root: string, count: number): void {
  const bodies = join(root, 'sha256')
  mkdirSync(bodies, { mode: 0o700 })
  for (let shard = 0; shard < 256; shard++) {
    mkdirSync(join(bodies, shard.toString(16).padStart(2, '0')), { mode: 0o700 })
  }
  const newest = Date.now()
  for (let i = 0; i < count; i++) {
    const body = `artefact ${i}`
    const hex = createHash('sha256').update(body).digest('hex')
    const file = join(bodies, hex.slice(0, 2), hex)
    writeFileSync(file, body, { mode: 0o600 })
    const sidecar = sidecarOf(hex, body.length, new Date(newest - i * 10))
    writeFileSync(`${file}.json`, JSON.stringify(sidecar), { mode: 0o600 })
  }
}

function sidecarOf(hex: string, size: number, created: Date): ArtefactRef {
  return {
    uri: `artefact://sha256/${hex}`,
    mime: 'text/plain',
    size_bytes: size,
    display_name: `render ${hex.slice(0, 8)}`,
    digest: `sha256:${hex}`,
    session_id: null,
    tool_call_id: null,
    job_id: null,
    correlation_id: null,
    instance_id: null,
    dcc_type: null,
    created_at: created.toISOString(),
    expires_at: null,
    metadata: { frame: size },
  }
}
