import type { Logger } from '../../../lib/util/logger.ts'
import { systemTimer } from '../../../lib/util/time.ts'
import { listen } from '../../database/listener.ts'
import { migrate } from '../../database/migrations.ts'
import type { Database } from '../../database/pool.ts'
import type { DocumentStores } from '../document-stores.ts'
import { checkpointRows } from './checkpoint-rows.ts'
import { NoteRows, notesChannel } from './note-rows.ts'
import { migrations } from './schema.ts'

/** In case that a notice was lost. */
const pollMs = 5000

/** Makes the tables when they are missing. The caller closes the database afterwards. */
export async function openDocumentRows(database: Database, log: Logger): Promise<DocumentStores> {
  await migrate(database, 'documents', migrations)
  let notices = 0
  const reread = async () => void notices++
  const stop = listen({
    ...{ database, channel: notesChannel, timer: systemTimer, log },
    ...{ reread, pollMs },
  })
  const parts = { database, log, notices: () => notices }
  return {
    notes: document => new NoteRows(document, parts),
    checkpoints: document => checkpointRows(database, document),
    close: stop,
  }
}
