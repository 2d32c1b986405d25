import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from '../../../lib/util/logger.ts'
import { systemTimer } from '../../../lib/util/time.ts'
import { listen } from '../../database/listener.ts'
import { migrate } from '../../database/migrations.ts'
import type { Database } from '../../database/pool.ts'
import { type DocumentStores, localSuffix } from '../document-stores.ts'
import { checkpointRows } from './checkpoint-rows.ts'
import { NoteRows, notesChannel } from './note-rows.ts'
import { migrations } from './schema.ts'

/** In case a notice was lost. */
const pollMs = 5000

/**
 * Opens the documents in PostgreSQL, and creates missing tables. Documents without a path belong to
 * one account: this machine and `folder`, where it would keep files, identify it. The caller closes
 * the database after the stores.
 */
export async function openDocumentRows(
  database: Database,
  log: Logger,
  folder: string,
): Promise<DocumentStores> {
  await migrate(database, 'documents', migrations)
  let notices = 0
  const reread = async () => void notices++
  const stop = listen({ database, channel: notesChannel, timer: systemTimer, log, reread, pollMs })
  const parts = { database, log, notices: () => notices }
  const account = createHash('sha256').update(`${hostname()}\n${folder}`).digest('hex').slice(0, 32)
  const nameOf = (document: string) =>
    document.endsWith(localSuffix) ? `${document}.${account}` : document
  return {
    notes: document => new NoteRows(nameOf(document), parts),
    checkpoints: document => checkpointRows(database, nameOf(document)),
    close: stop,
  }
}
