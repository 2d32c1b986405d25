import { createHash, randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { toRfc3339 } from '../../lib/util/time.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { fsyncDirectory } from '../../lib/util/posix.ts'
import { writeNewFile } from '../../lib/util/replace-file.ts'
import { completeRef, readEntry, serialiseSidecar, sidecarPath } from './entry.ts'
import { boundOf, laterExpiry } from './expiry.ts'
import type { FsContext } from './fs-context.ts'
import type { PutFields } from './put-options.ts'
import type { ArtefactRef, PutResult } from './store.ts'
import { artefactUri } from '../../lib/mcp/uris.ts'

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
  source: Uint8Array | AsyncIterable<Uint8Array>,
  fields: PutFields,
): Promise<PutResult> {
  const { limits, layout } = store
  const maxBytes = Math.min(boundOf(limits.maxArtefactBytes), boundOf(limits.maxArtefactTotalBytes))
  const temp = join(layout.temp, `${store.mark}.${randomUUID()}`)
  const body = await open(temp, 'wx', 0o600)
  try {
    const { hex, size } = await writeBody(body, source, maxBytes)
    if (size > maxSyncUnderLockBytes) await body.sync()
    return await store.locks.hold(hex, () => commit(store, { hex, size, temp, body, fields }))
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
  readonly fields: PutFields
}

async function commit(store: FsContext, written: Written): Promise<PutResult> {
  const { hex, size, temp, body } = written
  const { limits, index } = store
  const dir = store.shards.dirOf(hex)
  const made = fs.mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (made !== undefined) await fsyncDirectory(store.layout.bodies)

  const previous = findPrevious(store, dir, hex, size)
  const ref = describe(store, written, previous)
  await Promise.all([body.sync(), writeNewFile(`${temp}.json`, serialiseSidecar(ref))])
  await body.close()

  const path = join(dir, hex)
  await rename(temp, path)
  try {
    fs.renameSync(`${temp}.json`, sidecarPath(dir, hex))
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
  return completeRef(dir, reading.entry, store.limits)
}

function describe(
  { clock, limits, origin }: FsContext,
  { hex, size, fields }: Written,
  previous: ArtefactRef | null,
): ArtefactRef {
  const ttlMs = limits.artefactTtlMs
  const created = { created_at: toRfc3339(clock.now()), expires_at: fields.expires_at }
  const { instance_id, dcc_type } = origin()
  return Object.freeze({
    uri: artefactUri(hex),
    mime: fields.mime,
    size_bytes: size,
    display_name: fields.display_name,
    digest: `sha256:${hex}`,
    session_id: fields.session_id,
    tool_call_id: fields.tool_call_id,
    job_id: fields.job_id,
    correlation_id: fields.correlation_id,
    instance_id,
    dcc_type,
    created_at: created.created_at,
    expires_at: previous === null ? created.expires_at : laterExpiry(previous, created, ttlMs),
    metadata: fields.metadata,
  })
}

const pieceBytes = 1024 * 1024

/**
 * Writes the source to `file`, hashing on the way; holds one piece at a time. Throws
 * `artefact_too_large` as soon as more than `maxBytes` came.
 */
async function writeBody(
  file: FileHandle,
  source: Uint8Array | AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ hex: string; size: number }> {
  const hash = createHash('sha256')
  let size = 0
  for await (const piece of source instanceof Uint8Array ? copiesOf(source) : piecesOf(source)) {
    if (!(piece instanceof Uint8Array)) throw new TypeError('an artefact is made of bytes')
    if (size + piece.byteLength > maxBytes) throw tooLarge(maxBytes)
    // The write runs elsewhere while this thread hashes.
    const written = writeAll(file, piece, size)
    hash.update(piece)
    await written
    size += piece.byteLength
  }
  return { hex: hash.digest('hex'), size }
}

function tooLarge(maxBytes: number): ServiceError {
  const hint = 'store less, or raise maxArtefactBytes and maxArtefactTotalBytes'
  const message = `the artefact is larger than ${maxBytes} bytes`
  return new ServiceError('artefact_too_large', message, { hint, data: { max_bytes: maxBytes } })
}

/** The bytes could not be had: `cause` is the source's own error, and none of the store's. */
export class SourceFailed extends Error {
  override readonly name = 'SourceFailed'
}

async function* piecesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* source
  } catch (error) {
    throw new SourceFailed('the source failed', { cause: error })
  }
}

/** Copies, because the caller may change its bytes meanwhile: hash and file must agree. */
function* copiesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += pieceBytes) {
    // Not `slice`: that of a Buffer is a view.
    yield new Uint8Array(bytes.subarray(at, at + pieceBytes))
  }
}

async function writeAll(file: FileHandle, piece: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < piece.byteLength;) {
    const { bytesWritten } = await file.write(piece, done, piece.byteLength - done, position + done)
    done += bytesWritten
  }
}
