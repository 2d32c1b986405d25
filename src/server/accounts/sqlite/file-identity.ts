import { lstatSync } from 'node:fs'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'

/** The database, its write-ahead log and the index of that: a change is lost without any of them. */
const suffixes = ['', '-wal', '-shm'] as const

/** `data.reason` of the errors that `watchFiles` throws. */
export const databaseReplaced = 'database_replaced'
export const keysRemoved = 'keys_removed'

export interface WatchedFiles {
  readonly database: string
  /** Made after the database, and replaced by each rotation: only its absence is an error. */
  readonly keys?: string | undefined
  readonly lock?: string | undefined
}

/**
 * Remembers device and inode of the files of an open database and of its lock. The returned check throws
 * `storage_failed` once a name leads to another file or to none, or the key file is gone: what is
 * written then, a login included, is void after the next start. Logs when that begins and ends.
 */
export function watchFiles({ database, keys, lock }: WatchedFiles, log: Logger): () => void {
  const paths = suffixes.map(suffix => database + suffix).concat(lock ?? [])
  const opened = paths.map(identityOf)
  const hasKeys = () => keys !== undefined && identityOf(keys) !== null
  let hadKeys = hasKeys()
  let lost: string | null = null

  function findLost(): { path: string; reason: string } | null {
    const path = paths.find((watched, index) => identityOf(watched) !== opened[index])
    if (path !== undefined) return { path, reason: databaseReplaced }
    const isThere = hasKeys()
    if (hadKeys && !isThere) return { path: keys ?? '', reason: keysRemoved }
    hadKeys = isThere
    return null
  }

  return () => {
    const found = findLost()
    if (found === null) {
      if (lost !== null) log.info({ path: lost }, 'the file is back; changes are accepted again')
      lost = null
      return
    }
    const { path, reason } = found
    const message = `${path} was deleted or replaced while the server was running`
    if (lost !== path) log.error({ path }, `${message}; changes are refused`)
    lost = path
    throw new ServiceError('storage_failed', message, {
      hint: 'stop the server, put the files back or restore a backup, and start it again',
      data: { reason },
    })
  }
}

/** By name: closing a descriptor of a database drops the locks that this process holds (POSIX). */
function identityOf(path: string): string | null {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : `${found.dev}:${found.ino}`
}
