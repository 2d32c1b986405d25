import { asUnavailable } from '../database/errors.ts'
import { migrate, type Migration } from '../database/migrations.ts'
import type { Database } from '../database/pool.ts'
import { catalogChanges } from './catalog-changes.ts'
import { catalogReads } from './catalog-reads.ts'
import type { CatalogLimits } from './rows.ts'

/** Texts are compared byte by byte: `"C"`. Times are milliseconds of the epoch. */
const artefacts = `
CREATE TABLE artefacts (
  hex TEXT COLLATE "C" PRIMARY KEY,
  object TEXT COLLATE "C" NOT NULL,
  size_bytes BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT,
  mime TEXT COLLATE "C" NOT NULL,
  session_id TEXT COLLATE "C",
  tool_call_id TEXT COLLATE "C",
  job_id TEXT COLLATE "C",
  correlation_id TEXT COLLATE "C",
  -- The whole reference as JSON.
  sidecar TEXT NOT NULL,
  change BIGINT NOT NULL
);
CREATE INDEX artefacts_by_time ON artefacts (created_at_ms DESC, hex);
CREATE INDEX artefacts_by_expiry ON artefacts (expires_at_ms) WHERE expires_at_ms IS NOT NULL;
CREATE INDEX artefacts_by_age ON artefacts (created_at_ms) WHERE expires_at_ms IS NULL;

-- Objects of the bucket that no artefact has: they are being stored, or go when they are due.
CREATE TABLE artefact_objects (
  object TEXT COLLATE "C" PRIMARY KEY,
  due_ms BIGINT NOT NULL,
  -- A server removes it: no artefact may have it any more.
  is_taken BOOLEAN NOT NULL DEFAULT false,
  -- Of the artefact that had it.
  hex TEXT COLLATE "C",
  change BIGINT
);
CREATE INDEX artefact_objects_by_due ON artefact_objects (due_ms);
CREATE INDEX artefact_objects_by_change ON artefact_objects (change) WHERE change IS NOT NULL;

-- Its lock makes changes follow each other: the counts are exact, and each change has a number.
CREATE TABLE artefact_totals (
  one BOOLEAN PRIMARY KEY CHECK (one),
  store_id TEXT NOT NULL,
  entries BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  change BIGINT NOT NULL
);
INSERT INTO artefact_totals VALUES (true, gen_random_uuid(), 0, 0, 0);
`

const migrations: readonly Migration[] = [{ number: 1, name: 'artefacts', sql: artefacts }]

/** The artefacts in the bucket, in PostgreSQL. Rejects with `storage_unavailable` or `storage_full`. */
export interface Catalog
  extends ReturnType<typeof catalogReads>, ReturnType<typeof catalogChanges> {
  readonly objects: ReturnType<typeof objectLedger>
}

/** Makes the tables when they are missing. */
export async function openCatalog(database: Database, limits: CatalogLimits): Promise<Catalog> {
  await migrate(database, 'artefacts', migrations)
  return {
    ...catalogReads(database, limits),
    ...catalogChanges(database, limits),
    objects: objectLedger(database),
  }
}

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
function objectLedger(database: Database) {
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
