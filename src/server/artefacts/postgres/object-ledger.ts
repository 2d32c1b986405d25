import type { Database } from '../../database/pool.ts'
import { asUnavailable } from './rows.ts'

/** An upload may take so long: what is left of one that was interrupted goes then. */
const uploadMs = 24 * 60 * 60 * 1000
/** A server that took objects to remove them has so long; then another one may. */
const leaseMs = 10 * 60 * 1000

const reserve = 'INSERT INTO artefact_objects (object, due_ms) VALUES ($1, $2)'
// Waits for a transaction that uses the object, and finds nothing when that has succeeded.
const takeOne = `UPDATE artefact_objects SET is_taken = true, due_ms = $2
  WHERE object = $1 AND hex IS NULL`
const takeDue = `UPDATE artefact_objects SET is_taken = true, due_ms = $2 WHERE object IN
  (SELECT object FROM artefact_objects WHERE due_ms <= $1 ORDER BY due_ms LIMIT $3
    FOR UPDATE SKIP LOCKED) RETURNING object`
const forget = 'DELETE FROM artefact_objects WHERE object = $1 AND is_taken'

/**
 * Objects in the bucket that no artefact has. Each is written down here before it is stored, so
 * that none is lost from sight when a server is killed, and the bucket is never listed.
 */
export function objectLedger(database: Database) {
  const change = (sql: string, ...values: (string | number)[]) =>
    database
      .run('the objects of the bucket were not noted', queries => queries.change(sql, ...values))
      .catch(asUnavailable)
  return {
    /** Before the object is stored. */
    reserve: (object: string, nowMs: number) => change(reserve, object, nowMs + uploadMs),
    /** False when an artefact has the object: then it must stay. */
    take: async (object: string, nowMs: number) =>
      (await change(takeOne, object, nowMs + leaseMs)) > 0,
    /** Objects that are due, which this server then removes. */
    takeDue: (nowMs: number, limit: number) =>
      database
        .run('the objects of the bucket were not read', async queries => {
          const rows = await queries.rows<{ object: string }>(
            ...([takeDue, nowMs, nowMs + leaseMs, limit] as const),
          )
          return rows.map(({ object }) => object)
        })
        .catch(asUnavailable),
    /** The object was removed. */
    forget: (object: string) => change(forget, object),
  }
}
