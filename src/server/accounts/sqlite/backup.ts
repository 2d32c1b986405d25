import { backup as copyPages } from 'node:sqlite'
import { errnoOf, ServiceError } from '../../../lib/util/errors.ts'
import { orStoreError, toStoreError, untilFree } from './database.ts'
import { accept, checkIntegrity, connect } from './open-database.ts'
import { publishFile } from './publish-file.ts'
import { checkSchema } from './schema.ts'

/** What a backup holds. */
interface BackupFacts {
  readonly registryId: string
  readonly accounts: number
  readonly sessions: number
}

/** So many pages are copied, in another thread, between two turns of the event loop. */
const pagesAtOnce = 256

/** One file without companions, checked before it gets its name. */
export async function backupDatabase(file: string, target: string, busyMs: number): Promise<void> {
  await makeCopy(file, target, busyMs, async temporary => {
    await verifyBackup(temporary)
  })
}

/**
 * Throws `storage_failed` unless the file is a whole database of this version in which nothing
 * points at what is not there. Changes nothing.
 */
export async function verifyBackup(file: string): Promise<BackupFacts> {
  return orStoreError(file, 'the backup cannot be read', async () => {
    const db = connect(file, 'ro')
    try {
      accept(file, checkSchema(db))
      checkIntegrity(db, file, 'integrity_check')
      const orphans = db.prepare('PRAGMA foreign_key_check').all()
      if (orphans.length > 0) {
        const what = `${file} is damaged: ${orphans.length} rows belong to rows that are not there`
        throw new ServiceError('storage_failed', what, { hint: 'use another backup' })
      }
      const count = (table: string) =>
        Number(db.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count'])
      const id = db.prepare("SELECT value FROM meta WHERE name = 'registry_id'").get()
      return {
        registryId: String(id?.['value']),
        accounts: count('accounts'),
        sessions: count('sessions'),
      }
    } finally {
      db.close()
    }
  })
}

/** Copies the state of one moment, however much other processes write. */
async function makeCopy(
  source: string,
  target: string,
  busyMs: number,
  finish: (temporary: string) => Promise<void>,
): Promise<void> {
  try {
    const published = await publishFile(target, async temporary => {
      const db = connect(source, 'ro')
      try {
        // A reading transaction, or each write of another process would begin the copy anew.
        await untilFree(busyMs, () => {
          db.exec('BEGIN')
          db.prepare('SELECT 1 FROM meta').get()
        })
        await copyPages(db, temporary, { rate: pagesAtOnce })
      } finally {
        db.close()
      }
      standAlone(temporary)
      await finish(temporary)
    })
    if (!published) throw exists(target)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') throw toStoreError(error, target, 'its folder is not there')
    throw toStoreError(error, target, 'the copy was not made')
  }
}

/** Not in WAL mode any more: it can be read where nothing can be written. */
function standAlone(path: string): void {
  const db = connect(path, 'rw')
  try {
    db.exec('PRAGMA journal_mode = DELETE')
  } finally {
    db.close()
  }
}

function exists(target: string): ServiceError {
  const hint = 'name a file that does not exist'
  return new ServiceError('storage_failed', `${target} is there already and was left as it is`, {
    hint,
  })
}
