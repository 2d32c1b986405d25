import type { Migration } from '../../database/migrations.ts'

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

export const migrations: readonly Migration[] = [{ number: 1, name: 'artefacts', sql: artefacts }]
