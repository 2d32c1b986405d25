import {
  inOrder,
  type CheckpointStore,
  makeRoom,
  parseCheckpoint,
} from '../../checkpoints/checkpoint-store.ts'
import { asUnavailable } from '../../database/errors.ts'
import type { Database, Queries } from '../../database/pool.ts'

const lock = `SELECT pg_advisory_xact_lock(hashtext('document_checkpoints'), hashtext($1))`
const select = 'SELECT facts FROM document_checkpoints WHERE document = $1'
const selectScene = 'SELECT scene FROM document_checkpoints WHERE document = $1 AND name = $2'
const insert = `INSERT INTO document_checkpoints (document, name, facts, scene)
  VALUES ($1, $2, $3, $4)`
const remove = 'DELETE FROM document_checkpoints WHERE document = $1 AND name = $2'

/** The checkpoints of one document in PostgreSQL. */
export function checkpointRows(database: Database, document: string): CheckpointStore {
  async function listWith(queries: Pick<Queries, 'rows'>) {
    const rows = await queries.rows<{ facts: string }>(select, document)
    return inOrder(rows.map(({ facts }) => parseCheckpoint(facts)))
  }
  return {
    list: () => database.run('the checkpoints were not read', listWith).catch(asUnavailable),

    async read(name) {
      const what = 'the checkpoint was not read'
      const found = database.row<{ scene: Buffer }>(what, selectScene, document, name)
      const row = await found.catch(asUnavailable)
      if (row === null) throw new Error('it was removed')
      return row.scene
    },

    add: (checkpoint, packed) =>
      database
        .transact('the checkpoint was not kept', async queries => {
          await queries.rows(lock, document)
          for (const { name } of makeRoom(await listWith(queries), checkpoint)) {
            await queries.change(remove, document, name)
          }
          const values = [document, checkpoint.name, JSON.stringify(checkpoint), packed] as const
          await queries.change(insert, ...values)
        })
        .catch(asUnavailable),

    async remove(name) {
      const removed = database.change('the checkpoint was not removed', remove, document, name)
      return (await removed.catch(asUnavailable)) > 0
    },
  }
}
