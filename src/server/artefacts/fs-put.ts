import { createHash, randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '../../lib/util/errors.ts'
import { fsyncDirectory } from '../../lib/util/posix.ts'
import { renameFile, writeNewFile } from '../../lib/util/replace-file.ts'
import { type BodyBound, type BodySource, byLimits, piecesOf, sizeWith } from './body-source.ts'
import type { Describe } from './describe.ts'
import { completeRef, readEntry, serialiseSidecar, sidecarPath } from './entry.ts'
import { maxBodyBytes } from './expiry.ts'
import type { FsContext } from './fs-context.ts'
import type { PutResult } from './store.ts'

/**
 * Larger bodies are synced before the lock is taken, so that no other writer waits for the disk.
 */
const maxSyncUnderLockBytes = 4 * 1024 * 1024

/**
 * Stores the bytes. The order makes a crash harmless: body written and synced under a temporary
 * name, body in place, sidecar in place (from here on it is an artefact), folder synced. Not
 * `replaceFile`: the name is known only after the body was streamed, and two files change together.
 */
export async function putArtefact(
  store: FsContext,
  source: BodySource,
  describe: Describe,
): Promise<PutResult> {
  const { limits, layout } = store
  const bound = byLimits(maxBodyBytes(limits))
  const temp = join(layout.temp, `${store.mark}.${randomUUID()}`)
  const body = await open(temp, 'wx', 0o600)
  try {
    const { hex, size } = await writeBody(body, source, bound)
    if (size > maxSyncUnderLockBytes) await body.sync()
    return await store.locks.hold(hex, () => commit(store, { hex, size, temp, body, describe }))
  } finally {
    await body.close()
    await rm(temp, { force: true })
    fs.rmSync(`${temp}.json`, { force: true })
  }
}

interface Written {
  readonly hex: string
  readonly size: number
  readonly temp: string
  readonly body: FileHandle
  readonly describe: Describe
}

async function commit(store: FsContext, written: Written): Promise<PutResult> {
  const { hex, size, temp, body } = written
  const { limits, index } = store
  const dir = store.shards.dirOf(hex)
  const made = fs.mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (made !== undefined) await fsyncDirectory(store.layout.bodies)

  const previous = findPrevious(store, dir, hex, size)
  const ref = written.describe({ hex, size, previous })
  await Promise.all([body.sync(), writeNewFile(`${temp}.json`, serialiseSidecar(ref))])
  await body.close()

  const path = join(dir, hex)
  await renameFile(temp, path)
  try {
    await renameFile(`${temp}.json`, sidecarPath(dir, hex))
  } catch (error) {
    if (previous === null) await rm(path, { force: true })
    throw error
  }
  await fsyncDirectory(dir)

  const reading = readEntry(dir, hex, limits)
  if (reading.state !== 'entry') {
    throw new ServiceError('storage_failed', `the stored artefact ${hex} cannot be read back`)
  }
  index.put([reading.entry])
  return { ref, existed: previous !== null }
}

function findPrevious(store: FsContext, dir: string, hex: string, size: number) {
  const reading = readEntry(dir, hex, store.limits)
  if (reading.state !== 'entry' || reading.entry.bytes !== size) return null
  if (reading.entry.expiresMs <= store.clock.now()) return null
  return completeRef(dir, reading.entry)
}

/**
 * Writes the source to `file`, hashing on the way; holds one piece at a time. Throws
 * `artefact_too_large` as soon as more than the bound came.
 */
async function writeBody(
  file: FileHandle,
  source: BodySource,
  bound: BodyBound,
): Promise<{ hex: string; size: number }> {
  const hash = createHash('sha256')
  let size = 0
  for await (const piece of piecesOf(source)) {
    const sum = sizeWith(piece, size, bound)
    // The write runs elsewhere while this thread hashes.
    const written = writeAll(file, piece, size)
    hash.update(piece)
    await written
    size = sum
  }
  return { hex: hash.digest('hex'), size }
}

async function writeAll(file: FileHandle, piece: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < piece.byteLength;) {
    const { bytesWritten } = await file.write(piece, done, piece.byteLength - done, position + done)
    done += bytesWritten
  }
}
