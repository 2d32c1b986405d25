import { errnoOf } from '../../../lib/util/errno.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { messageOf } from '../../../lib/util/message-of.ts'

/** Primary result codes of SQLite (sqlite3.h); the extended ones have them in their low byte. */
const codes = { busy: 5, locked: 6, readonly: 8, corrupt: 11, full: 13, notADatabase: 26 } as const

const uniqueCodes: readonly number[] = [2067, 1555]

const hints: Readonly<Record<number, string>> = {
  [codes.readonly]: 'give this user the right to write to the file and its folder',
  [codes.corrupt]: 'stop the registry and restore a backup',
  [codes.notADatabase]: 'stop the registry and restore a backup',
}

const messages: Readonly<Record<number, string>> = {
  [codes.busy]: 'another process kept it locked',
  [codes.readonly]: 'it cannot be written',
  [codes.corrupt]: 'it is damaged',
  [codes.notADatabase]: 'it is damaged, or no database',
}

/** SQLite's result code, or null for any other error. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode : null
}

/** Somebody else holds a lock; the same can be tried again. */
export function isBusy(error: unknown): boolean {
  const primary = (sqliteCode(error) ?? 0) & 0xff
  return primary === codes.busy || primary === codes.locked
}

/** A value that must be there once is there already. */
export function isTaken(error: unknown): boolean {
  return uniqueCodes.includes(sqliteCode(error) ?? 0)
}

/** What the caller of a store gets for `error`; mistakes of our own stay what they are. */
export function toStoreError(error: unknown, file: string, what: string): unknown {
  if (error instanceof ServiceError) return error
  const code = sqliteCode(error)
  const errno = errnoOf(error)
  const primary = (code ?? 0) & 0xff
  if (primary === codes.full || errno === 'ENOSPC' || errno === 'EDQUOT') {
    const hint = `free space on the disk of ${file}`
    return new ServiceError('storage_full', `${file}: ${what}: the disk is full`, {
      cause: error,
      hint,
    })
  }
  if (code === null && errno === null && !isClosed(error)) return error
  const told = messageOf(error)
  const reason = errno ?? messages[primary] ?? told
  const hint = hints[primary] ?? `check that ${file} and its disk are healthy`
  return new ServiceError('storage_failed', `${file}: ${what}: ${reason}`, { cause: error, hint })
}

/** `node:sqlite` says so of a call on a closed database. */
function isClosed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE'
}
