import { createHash, randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type FsStore,
  type FsStoreOptions,
  createFsStore,
} from '../../../src/server/artefacts/fs-store.ts'
import type { Clock } from '../../../src/lib/util/time.ts'
import type { ArtefactStore } from '../../../src/server/artefacts/store.ts'
import { createArtefactProducer } from '../../../src/server/artefacts/producer.ts'
import { withFolder } from '../../helpers/folder.ts'
import { settableClock } from '../../helpers/settable-clock.ts'
import { type Bounds, boundsWith } from '../../helpers/bounds.ts'

export const noTimers = boundsWith({ artefactPollMs: 0, artefactSweepMs: 0 })

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(pieces, piece => new Uint8Array(piece)))
}

/** Opens what a store must have. */
export async function opened(store: Pick<ArtefactStore, 'open'>, hex: string) {
  const artefact = await store.open(hex)
  if (artefact === null) throw new Error(`${hex} is not stored`)
  return artefact
}

/** All bytes of an artefact, verified. */
export async function bytesOf(store: Pick<ArtefactStore, 'open'>, hex: string): Promise<Buffer> {
  const artefact = await opened(store, hex)
  try {
    return await collect(artefact.verified())
  } finally {
    await artefact.close()
  }
}

/** Random bytes whose hash starts with `start`: so that several artefacts share a shard. */
export function bytesHashedTo(start: string, length = 32): Buffer {
  for (let round = 0; round < 100_000; round++) {
    const bytes = randomBytes(length)
    if (sha256(bytes).startsWith(start)) return bytes
  }
  throw new Error(`no bytes found that hash to ${start}`)
}

export function open(root: string, options: Partial<FsStoreOptions> = {}) {
  return createFsStore({ root, limits: noTimers, ...options })
}

/** Opens a new, empty store for the suites, which is closed and removed after the test. */
export type CreateStore = (
  limits?: Partial<Bounds>,
  clock?: Clock,
) => Promise<{
  store: ArtefactStore & Pick<FsStore, 'sweep'>
  /** Changes the last byte of what is stored under a hash. */
  damage(hex: string): Promise<void>
}>

/** Returns a function that opens stores in folders of their own; they are removed after each test. */
export function useStores(): CreateStore {
  const opened: { root: string; close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const { root, close } of opened.splice(0)) {
      await close()
      await rm(root, { recursive: true })
    }
  })
  return async (limits = {}, clock = settableClock()) => {
    const root = await mkdtemp(join(tmpdir(), 'artefacts-'))
    const store = await open(root, { limits: boundsWith(limits), clock })
    opened.push({ root, close: () => store.close() })
    return { store, damage: async hex => damage(root, hex) }
  }
}

export function bodyPath(root: string, hex: string): string {
  return join(root, 'sha256', hex.slice(0, 2), hex)
}

/** A body without an entry, as an interrupted put leaves it; returns its path. */
export function writeOrphan(root: string, bytes: Buffer): string {
  const path = bodyPath(root, sha256(bytes))
  fs.mkdirSync(dirname(path), { recursive: true })
  fs.writeFileSync(path, bytes)
  return path
}

/** Changes the last byte of a stored body. */
export function damage(root: string, hex: string): void {
  const path = bodyPath(root, hex)
  const bytes = fs.readFileSync(path)
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
  fs.writeFileSync(path, bytes)
}

/** Makes every file and folder an hour old, so that nothing counts as fresh. */
export function age(root: string): void {
  const past = new Date(Date.now() - 3600_000)
  for (const shard of fs.readdirSync(join(root, 'sha256'))) {
    const dir = join(root, 'sha256', shard)
    for (const name of fs.readdirSync(dir)) fs.utimesSync(join(dir, name), past, past)
    fs.utimesSync(dir, past, past)
  }
}

interface ProducerSetup {
  root: string
  store: FsStore
  clock: ReturnType<typeof settableClock>
  producer: ReturnType<typeof createArtefactProducer>
}

export function withProducer(
  use: (setup: ProducerSetup) => Promise<void>,
  overrides: Partial<Bounds> = {},
) {
  return withFolder(async root => {
    const limits = boundsWith(overrides)
    const clock = settableClock()
    const store = await createFsStore({ root, limits, clock })
    const downloadUrl = (hex: string) => `http://127.0.0.1:1/artefacts/sha256/${hex}`
    const producer = createArtefactProducer({ store, limits, downloadUrl, shrink })
    await use({ root, store, clock, producer })
    await store.close()
  })
}

/** Pictures stay as they are. */
export const shrink = () => Promise.resolve(null)

export const hexOf = (ref: { digest: string }) => ref.digest.slice('sha256:'.length)
