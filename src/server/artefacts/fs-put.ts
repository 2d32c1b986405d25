import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { toRfc3339 } from '../../lib/util/clock.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { fsyncDirectory, noFollow } from '../../lib/util/posix.ts'
import { completeRef, readEntry, sidecarPath } from './entry.ts'
import { boundOf, laterExpiry } from './expiry.ts'
import type { FsContext } from './fs-context.ts'
import type { PutFields } from './put-options.ts'
import { serialiseSidecar } from './sidecar.ts'
import type { ArtefactRef, PutResult } from './store.ts'
import { artefactUri } from '../../lib/mcp/artefact-uri.ts'
import { writeBody } from './write-body.ts'

/** Larger bodies are synced before the lock is taken, so that nobody waits for the disk. */
const maxSyncUnderLockBytes = 4 * 1024 * 1024

/**
 * Stores the bytes. The order makes a crash harmless: body written and synced under a temporary
 * name, body in place, sidecar in place (from here on it is an artefact), folder synced.
 */
export async function putArtefact(
  store: FsContext,
  source: Uint8Array | AsyncIterable<Uint8Array>,
  fields: PutFields,
): Promise<PutResult> {
  const { limits, layout } = store
  const maxBytes = Math.min(boundOf(limits.maxArtefactBytes), boundOf(limits.maxArtefactTotalBytes))
  const temp = join(layout.temp, `${store.mark}.${randomUUID()}`)
  const body = await createFile(temp)
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
  const ref = describe(written, previous, store.clock.now(), limits.artefactTtlMs)
  await Promise.all([body.sync(), writeSidecar(`${temp}.json`, ref)])
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
  { hex, size, fields }: Written,
  previous: ArtefactRef | null,
  nowMs: number,
  ttlMs: number,
): ArtefactRef {
  const created = { created_at: toRfc3339(nowMs), expires_at: fields.expires_at }
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
    created_at: created.created_at,
    expires_at: previous === null ? created.expires_at : laterExpiry(previous, created, ttlMs),
    metadata: fields.metadata,
  })
}

async function writeSidecar(path: string, ref: ArtefactRef): Promise<void> {
  const file = await createFile(path)
  try {
    await file.writeFile(serialiseSidecar(ref))
    await file.sync()
  } finally {
    await file.close()
  }
}

function createFile(path: string): Promise<FileHandle> {
  const { O_WRONLY, O_CREAT, O_EXCL } = fs.constants
  return open(path, O_WRONLY | O_CREAT | O_EXCL | noFollow, 0o600)
}
