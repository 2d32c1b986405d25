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
const newId = `SELECT nextval('document_changes') AS id`
const insert = `INSERT INTO document_checkpoints (id, document, name, facts)
  VALUES ($1, $2, $3, $4)`
const partBytes = 1024 * 1024
const insertPart = `INSERT INTO document_scene_parts (checkpoint, part, bytes) VALUES ($1, $2, $3)`
const selectPart = `SELECT bytes FROM document_scene_parts
  JOIN document_checkpoints ON checkpoint = id WHERE document = $1 AND name = $2 AND part = $3`
const remove = 'DELETE FROM document_checkpoints WHERE document = $1 AND name = $2'

/** The checkpoints of one document in PostgreSQL. */
export function checkpointRows(database: Database, document: string): CheckpointStore {
  async function listWith(queries: Pick<Queries, 'rows'>) {
    const rows = await queries.rows<{ facts: string }>(select, document)
    return inOrder(rows.map(({ facts }) => parseCheckpoint(facts)))
  }
  return {
    list: () => database.run('the checkpoints were not read', listWith).catch(asUnavailable),

    read: name =>
      database
        .transact('the checkpoint was not read', async queries => {
          // The checkpoint may be removed meanwhile.
          await queries.script('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
          const parts: Buffer[] = []
          for (;;) {
            const values = [document, name, parts.length] as const
            const row = await queries.row<{ bytes: Buffer }>(selectPart, ...values)
            if (row === null) break
            parts.push(row.bytes)
          }
          if (parts.length === 0) throw new Error('it was removed')
          return Buffer.concat(parts)
        })
        .catch(asUnavailable),

    add: (checkpoint, packed) =>
      database
        .transact('the checkpoint was not kept', async queries => {
          // Once before the parts are sent, and again under the lock, for which others wait.
          makeRoom(await listWith(queries), checkpoint)
          const { id } = await queries.one<{ id: number }>(newId)
          for (let part = 0; part * partBytes < packed.length; part++) {
            const bytes = packed.subarray(part * partBytes, (part + 1) * partBytes)
            await queries.change(insertPart, id, part, bytes)
          }
          await queries.rows(lock, document)
          for (const { name } of makeRoom(await listWith(queries), checkpoint)) {
            await queries.change(remove, document, name)
          }
          const values = [id, document, checkpoint.name, JSON.stringify(checkpoint)] as const
          await queries.change(insert, ...values)
        })
        .catch(asUnavailable),

    async remove(name) {
      const removed = database.change('the checkpoint was not removed', remove, document, name)
      return (await removed.catch(asUnavailable)) > 0
    },
  }
}
