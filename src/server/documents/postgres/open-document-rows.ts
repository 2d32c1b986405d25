import type { Limits } from '../../../lib/config/limits.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { systemTimer } from '../../../lib/util/time.ts'
import { listen } from '../../database/listener.ts'
import { migrate } from '../../database/migrations.ts'
import { openDatabase } from '../../database/pool.ts'
import type { DatabaseSettings } from '../../database/settings.ts'
import type { DocumentStores } from '../document-stores.ts'
import { checkpointRows } from './checkpoint-rows.ts'
import { NoteRows, notesChannel } from './note-rows.ts'
import { migrations } from './schema.ts'

/** In case that a notice was lost. */
const pollMs = 5000

/** Makes the tables when they are missing. */
export async function openDocumentRows(
  settings: DatabaseSettings,
  { limits, log }: { readonly limits: Pick<Limits, 'maxStoreWaitMs'>; readonly log: Logger },
): Promise<DocumentStores> {
  const database = await openDatabase({ settings, log, waitMs: limits.maxStoreWaitMs })
  try {
    await migrate(database, 'documents', migrations)
  } catch (error) {
    await database.close()
    throw error
  }
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
    async close() {
      stop()
      await database.close()
    },
  }
}
