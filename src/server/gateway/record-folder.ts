import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readSync,
  type Stats,
} from 'node:fs'
import { errnoOf, isMissing } from '../../lib/util/errors.ts'
import { noFollow, noWait, ownUid } from '../../lib/util/posix.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'

/** Names of files besides records: tokens, records half-written. */
const othersPerRecord = 4

interface RecordNames {
  readonly names: readonly string[]
  /** There are more than `most`. */
  readonly more: boolean
}

/** The names of the records in a folder; an empty list when the folder is missing. */
export function listRecords(folder: string, most: number): Result<RecordNames, string> {
  const names: string[] = []
  try {
    const listing = opendirSync(folder, { bufferSize: 256 })
    try {
      for (let left = most * othersPerRecord; left >= 0; left--) {
        const name = listing.readSync()?.name
        if (name === undefined) return ok({ names, more: false })
        if (!isRecordName(name)) continue
        if (names.length === most) break
        names.push(name)
      }
      return ok({ names, more: true })
    } finally {
      listing.closeSync()
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return ok({ names, more: false })
    return fail(`the folder cannot be read (${errnoOf(error) ?? 'unknown error'})`)
  }
}

export function isRecordName(name: string): boolean {
  return name.endsWith('.json')
}

/** Differs when a file was touched, rewritten or replaced. */
export interface FileStamp {
  readonly ino: number
  readonly size: number
  readonly modifiedMs: number
}

type FileLook =
  | { readonly kind: 'missing' }
  /** As it was: not read. */
  | { readonly kind: 'same'; readonly stamp: FileStamp }
  | { readonly kind: 'read'; readonly stamp: FileStamp; readonly bytes: Buffer }
  | { readonly kind: 'fault'; readonly stamp: FileStamp; readonly reason: string }
  /** The trouble may pass although the file stays as it is: it says nothing about the content. */
  | { readonly kind: 'trouble'; readonly stamp: FileStamp | null; readonly reason: string }

/**
 * Returns the content of one small file when it differs from `known`. Synchronous: only plain files
 * are opened, and a file system answers such calls from memory, 20 times cheaper than through the
 * thread pool (1000 files are checked every 2 seconds).
 */
export function lookAtFile(path: string, known: FileStamp | null, maxBytes: number): FileLook {
  let stamp: FileStamp | null = null
  try {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return { kind: 'missing' }
    stamp = stampOf(found)
    if (isSame(stamp, known)) return { kind: 'same', stamp }
    const reason = strangeness(found, maxBytes)
    return reason === null ? readFile(path, maxBytes) : { kind: 'fault', stamp, reason }
  } catch (error) {
    if (isMissing(error)) return { kind: 'missing' }
    const reason = `it cannot be read (${errnoOf(error) ?? 'unknown error'})`
    return { kind: 'trouble', stamp, reason }
  }
}

function readFile(path: string, maxBytes: number): FileLook {
  const file = openSync(path, constants.O_RDONLY | noFollow | noWait)
  try {
    // Another file may have come in its place since.
    const found = fstatSync(file)
    const stamp = stampOf(found)
    const reason = strangeness(found, maxBytes)
    if (reason !== null) return { kind: 'fault', stamp, reason }
    const bytes = Buffer.allocUnsafe(found.size)
    return { kind: 'read', stamp, bytes: bytes.subarray(0, readSync(file, bytes)) }
  } finally {
    closeSync(file)
  }
}

/** Why this is not read, or null. */
function strangeness(found: Stats, maxBytes: number): string | null {
  if (found.isSymbolicLink()) return 'it is a symbolic link'
  if (!found.isFile()) return 'it is not a plain file'
  const uid = ownUid()
  if (uid !== null && found.uid !== uid) return `it belongs to another user (uid ${found.uid})`
  return found.size > maxBytes ? `it is larger than ${maxBytes} bytes` : null
}

function stampOf({ ino, size, mtimeMs }: Stats): FileStamp {
  return { ino, size, modifiedMs: mtimeMs }
}

function isSame(a: FileStamp, b: FileStamp | null): boolean {
  return b !== null && a.modifiedMs === b.modifiedMs && a.ino === b.ino && a.size === b.size
}
