import type { Migration } from '../../database/migrations.ts'

/** Texts are compared byte by byte: `"C"`. A document is the hash of its application and path. */
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

export const migrations: readonly Migration[] = [{ number: 1, name: 'documents', sql: documents }]
