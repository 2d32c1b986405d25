import { createHash, randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { ArtefactFolder } from '../../../src/server/artefacts/folder.ts'
import { ArtefactStore, type StoreOptions } from '../../../src/server/artefacts/store.ts'
import type { Clock } from '../../../src/lib/util/time.ts'
import { atEnd, newFolder } from '../../helpers/cleanup.ts'
import { settableClock } from '../../helpers/fakes.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'

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
  await using artefact = await opened(store, hex)
  return await collect(artefact.verified())
}

/** Random bytes whose hash starts with `start`: so that several artefacts share a shard. */
export function bytesHashedTo(start: string, length = 32): Buffer {
  for (let round = 0; round < 100_000; round++) {
    const bytes = randomBytes(length)
    if (sha256(bytes).startsWith(start)) return bytes
  }
  throw new Error(`no bytes found that hash to ${start}`)
}

/** Bounds of a store; the others keep their defaults. */
export type Bounds = Partial<Required<StoreOptions>['limits']>

export async function openFolder(
  root: string,
  { limits, ...options }: Omit<StoreOptions, 'limits'> & { limits?: Bounds } = {},
  /** By which leftovers are judged. */
  fileClock?: Clock,
): Promise<ArtefactStore> {
  const bounds = { ...serverDefaults, ...limits }
  const files = new ArtefactFolder(root, fileClock)
  const store = new ArtefactStore(files, { limits: bounds, ...options })
  await store.start()
  return store
}

/** Opens a new, empty store for the suites, which is closed and removed after the test. */
export type CreateStore = (options?: Parameters<typeof openFolder>[1]) => Promise<{
  store: ArtefactStore
  /** Changes the last byte of what is stored under a hash. */
  damage(hex: string): Promise<void>
}>

/** Returns a function that opens stores in folders of their own; they are removed after each test. */
export function useStores(): CreateStore {
  return async (options = {}) => {
    const root = newFolder()
    const store = await openFolder(root, { clock: settableClock(), ...options })
    atEnd(() => store.close())
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

export const hexOf = (ref: { digest: string }) => ref.digest.slice('sha256:'.length)
