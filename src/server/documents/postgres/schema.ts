import type { Migration } from '../../database/migrations.ts'

/** `"C"`: texts are compared byte by byte. For documents see `documentName`. */
const documents = `
-- Numbers of changes: the later one of a note is the larger one.
CREATE SEQUENCE document_changes;

CREATE TABLE document_notes (
  document TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  -- As JSON.
  note TEXT NOT NULL,
  change BIGINT NOT NULL,
  PRIMARY KEY (document, id)
);

CREATE TABLE document_checkpoints (
  document TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  -- As JSON, without the scene.
  facts TEXT NOT NULL,
  -- gzip
  scene BYTEA NOT NULL,
  PRIMARY KEY (document, name)
);
-- To compress it again would take seconds for a large one.
ALTER TABLE document_checkpoints ALTER COLUMN scene SET STORAGE EXTERNAL;
`

/** In parts: a statement with a whole scene would exceed the time of a statement. */
const sceneParts = `
ALTER TABLE document_checkpoints ADD COLUMN id BIGINT NOT NULL
  DEFAULT nextval('document_changes') UNIQUE;

CREATE TABLE document_scene_parts (
  -- The parts are written first.
  checkpoint BIGINT NOT NULL REFERENCES document_checkpoints (id) ON DELETE CASCADE
    DEFERRABLE INITIALLY DEFERRED,
  -- 0, 1, 2 …
  part INTEGER NOT NULL,
  -- 1 MiB of the gzip; the last one has less.
  bytes BYTEA NOT NULL,
  PRIMARY KEY (checkpoint, part)
);
ALTER TABLE document_scene_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;

INSERT INTO document_scene_parts
  SELECT id, part, substr(scene, part * 1048576 + 1, 1048576)
  FROM document_checkpoints, generate_series(0, (length(scene) - 1) / 1048576) AS part;
ALTER TABLE document_checkpoints DROP COLUMN scene;
`

export const migrations: readonly Migration[] = [
  { number: 1, name: 'documents', sql: documents },
  { number: 2, name: 'scene parts', sql: sceneParts },
]
