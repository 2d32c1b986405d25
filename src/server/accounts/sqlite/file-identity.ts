import { lstatSync } from 'node:fs'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'

/** The database, its write-ahead log and the index of that: a change is lost without any of them. */
const suffixes = ['', '-wal', '-shm'] as const

/** `data.reason` of the error that `watchFiles` throws. */
export const databaseReplaced = 'database_replaced'

/**
 * Remembers device and inode of the files of an open database and of `others`. The returned check throws
 * `storage_failed` once a name leads to another file or to none: what is written then is gone with
 * the process. Logs when that begins and when it ends.
 */
export function watchFiles(file: string, others: readonly string[], log: Logger): () => void {
  const paths = [...suffixes.map(suffix => file + suffix), ...others]
  const opened = paths.map(identityOf)
  let isLost = false
  return () => {
    const path = paths.find((watched, index) => identityOf(watched) !== opened[index])
    if (path === undefined) {
      if (isLost) log.info({ file }, 'the database file is back; changes are accepted again')
      isLost = false
      return
    }
    const message = `${path} was deleted or replaced while the server was running`
    if (!isLost) log.error({ path }, `${message}; changes are refused`)
    isLost = true
    throw new ServiceError('storage_failed', message, {
      hint: 'stop the server, put the files back or restore a backup, and start it again',
      data: { reason: databaseReplaced },
    })
  }
}

/** By name: closing a descriptor of a database drops the locks that this process holds (POSIX). */
function identityOf(path: string): string | null {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : `${found.dev}:${found.ino}`
}
