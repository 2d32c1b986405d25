import { asUnavailable } from '../../database/errors.ts'
import type { Database } from '../../database/pool.ts'

/** How long an upload may take. Then the sweep removes what an interrupted one left. */
const uploadMs = 24 * 60 * 60 * 1000
/** How long a server may take to remove objects; then another one may take them. */
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
 * Objects in the bucket that no artefact has. Each is recorded here before it is stored, so that a
 * killed server leaves none unknown, and the bucket is never listed.
 */
export function objectLedger(database: Database) {
  const change = (sql: string, ...values: (string | number)[]) =>
    database
      .change('the objects of the bucket were not recorded', sql, ...values)
      .catch(asUnavailable)
  return {
    /** Before the object is stored. */
    reserve: (object: string, nowMs: number) => change(reserve, object, nowMs + uploadMs),
    /** False when an artefact has the object: then it must stay. */
    take: async (object: string, nowMs: number) =>
      (await change(takeOne, object, nowMs + leaseMs)) > 0,
    /** Objects that are due, which this server then removes. */
    async takeDue(nowMs: number, limit: number): Promise<string[]> {
      const values = [nowMs, nowMs + leaseMs, limit] as const
      const rows = await database
        .rows<{ object: string }>('the objects of the bucket were not read', takeDue, ...values)
        .catch(asUnavailable)
      return rows.map(({ object }) => object)
    },
    /** The object was removed. */
    forget: (object: string) => change(forget, object),
  }
}
