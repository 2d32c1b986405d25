import type { ArtefactLimits } from './limits.ts'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../../lib/util/errors.ts'
import { noFollow, noWait } from '../../lib/util/posix.ts'
import { expiryMs } from './expiry.ts'
import type { ArtefactRef } from './store.ts'
import { isRfc3339 } from '../../lib/util/time.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { isJsonObject, parseJson, maxJsonDepth } from '../../lib/util/json.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import { isMediaType, isName } from './put-options.ts'
import { artefactUri } from '../../lib/mcp/uris.ts'

/** What the index keeps of a stored artefact. */
export interface Entry {
  readonly hex: string
  readonly bytes: number
  readonly createdMs: number
  readonly expiresMs: number
  /** Without its `metadata` when `heavy`. Its `size_bytes` is the size of the body on disk. */
  readonly ref: ArtefactRef
  /** The sidecar claims another size: only hashing the body tells which of the two is wrong. */
  readonly sizeDisputed: boolean
  /** The metadata is too large to be held for every artefact: it is read when asked for. */
  readonly heavy: boolean
  readonly sidecarBytes: number
  /** Tells this sidecar file from one that replaced it. */
  readonly key: string
}

type EntryReading =
  | { readonly state: 'entry'; readonly entry: Entry }
  | { readonly state: 'absent' }
  | { readonly state: 'bad'; readonly reason: string; readonly key: string }

export type EntryLimits = Pick<ArtefactLimits, 'artefactTtlMs' | 'maxArtefactMetadataBytes'>

/** A sidecar beyond this is not held in memory with the rest: 100,000 of them would add up. */
const maxHeldSidecarBytes = 4096
/** What a sidecar holds beside its metadata, at its largest. */
const sidecarOverheadBytes = 16 * 1024

export function sidecarPath(shardDir: string, hex: string): string {
  return join(shardDir, `${hex}.json`)
}

/** Same key, same content: a replaced file has another inode or another time. */
export function fileKey(stats: fs.Stats): string {
  return `${stats.ino}.${stats.mtimeMs}.${stats.ctimeMs}.${stats.size}`
}

/** Reads one artefact's sidecar and looks at its body. Throws only when the file system fails. */
export function readEntry(shardDir: string, hex: string, limits: EntryLimits): EntryReading {
  const path = sidecarPath(shardDir, hex)
  const stats = fs.lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return { state: 'absent' }
  const key = fileKey(stats)
  const bad = (reason: string): EntryReading => ({ state: 'bad', reason, key })

  if (!stats.isFile()) return bad('the sidecar is not a regular file')
  if (stats.size > limits.maxArtefactMetadataBytes + sidecarOverheadBytes) {
    return bad('the sidecar is too large')
  }
  const text = readSmallFile(path)
  if (text === null) return { state: 'absent' }
  const parsed = parseSidecar(text, hex, maxJsonDepth)
  if (!parsed.ok) return bad(parsed.failure)
  const ref = parsed.value

  const body = fs.lstatSync(join(shardDir, hex), { throwIfNoEntry: false })
  if (body === undefined) return bad('the body is missing')
  if (!body.isFile()) return bad('the body is not a regular file')

  const heavy = stats.size > maxHeldSidecarBytes
  const sizeDisputed = body.size !== ref.size_bytes
  return {
    state: 'entry',
    entry: {
      hex,
      bytes: body.size,
      createdMs: Date.parse(ref.created_at),
      expiresMs: expiryMs(ref, limits.artefactTtlMs),
      ref:
        heavy || sizeDisputed
          ? Object.freeze({ ...ref, size_bytes: body.size, ...(heavy && { metadata: null }) })
          : ref,
      sizeDisputed,
      heavy,
      sidecarBytes: stats.size,
      key,
    },
  }
}

/** The whole reference of an entry, or null when its sidecar went or changed its form. */
export function completeRef(shardDir: string, entry: Entry) {
  if (!entry.heavy) return entry.ref
  const text = readSmallFile(sidecarPath(shardDir, entry.hex))
  if (text === null) return null
  const parsed = parseSidecar(text, entry.hex, maxJsonDepth)
  return parsed.ok ? Object.freeze({ ...parsed.value, size_bytes: entry.bytes }) : null
}

function readSmallFile(path: string): string | null {
  const { O_RDONLY } = fs.constants
  try {
    const file = fs.openSync(path, O_RDONLY | noFollow | noWait)
    try {
      return fs.readFileSync(file, 'utf8')
    } finally {
      fs.closeSync(file)
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ELOOP') return null
    throw error
  }
}

/** Levels that the sidecar adds around `metadata`. */
const ownLevels = 2

export function serialiseSidecar(ref: ArtefactRef): string {
  return JSON.stringify(ref) + '\n'
}

/**
 * Reads a sidecar found on disk. It may have been written by another program, by an older
 * version or with invalid content: every member is checked, unknown ones are left out.
 * The failure is the reason, for the log.
 */
function parseSidecar(text: string, hex: string, maxDepth: number): Result<ArtefactRef, string> {
  const parsed = parseJson(text, maxDepth + ownLevels, parseExact)
  if (!parsed.ok) return fail(parsed.failure === 'depth' ? 'nested too deep' : 'not JSON')
  const value = parsed.value
  if (!isJsonObject(value)) return fail('not an object')

  const size = value['size_bytes']
  if (value['digest'] !== `sha256:${hex}`) return fail('digest is not that of the file name')
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
    return fail('size_bytes is not a size')
  }
  if (!isMediaType(value['mime'])) return fail('mime is not a media type')
  if (!isRfc3339(value['created_at'])) return fail('created_at is not a time')
  const expires = value['expires_at'] ?? null
  if (expires !== null && !isRfc3339(expires)) return fail('expires_at is not a time')
  for (const member of names) {
    const name = value[member] ?? null
    if (name !== null && !isName(name)) return fail(`${member} is not a name`)
  }

  return ok(
    Object.freeze({
      uri: artefactUri(hex),
      mime: value['mime'],
      size_bytes: size,
      display_name: nameOf(value['display_name']),
      digest: `sha256:${hex}`,
      session_id: nameOf(value['session_id']),
      tool_call_id: nameOf(value['tool_call_id']),
      job_id: nameOf(value['job_id']),
      correlation_id: nameOf(value['correlation_id']),
      instance_id: nameOf(value['instance_id']),
      dcc_type: nameOf(value['dcc_type']),
      created_at: String(value['created_at']),
      expires_at: expires === null ? null : String(expires),
      metadata: value['metadata'] ?? null,
    }),
  )
}

const names = [
  'display_name',
  'session_id',
  'tool_call_id',
  'job_id',
  'correlation_id',
  'instance_id',
  'dcc_type',
] as const

function nameOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
