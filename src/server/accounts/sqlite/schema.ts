import type { DatabaseSync } from 'node:sqlite'
import { type Result, fail, ok } from '../../../lib/util/result.ts'

/** Why a file cannot be worked with: what is wrong, and what to do. */
export interface SchemaProblem {
  readonly what: string
  readonly hint: string
}

/** `SvCr`, in the header of the file: identifies a database of this program. */
const applicationId = 0x53764372
/** `user_version` in the header of the file: raised when the tables change. */
const version = 1

const tables = `
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  username TEXT NOT NULL,
  username_key TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL UNIQUE,
  password_hash TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  disabled_at_ms INTEGER,
  team TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE reserved_names (
  username_key TEXT PRIMARY KEY,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  address TEXT,
  counter INTEGER NOT NULL DEFAULT 0 CHECK (counter >= 0),
  rotated_at_ms INTEGER,
  revoked_at_ms INTEGER,
  revoked_reason TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_of_account ON sessions (account_id, created_at_ms);
CREATE INDEX sessions_by_end ON sessions (expires_at_ms);
CREATE INDEX sessions_revoked ON sessions (revoked_at_ms) WHERE revoked_at_ms IS NOT NULL;

CREATE TABLE service_tokens (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  secret_hash TEXT NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  last_used_at_ms INTEGER,
  revoked_at_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX service_tokens_of_account ON service_tokens (account_id, created_at_ms);

CREATE TABLE invites (
  username_key TEXT PRIMARY KEY,
  hash TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE reset_codes (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  hash TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reset_codes_by_hash ON reset_codes (hash);

CREATE TABLE login_failures (
  name TEXT NOT NULL,
  source TEXT NOT NULL,
  forgotten_at_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (name, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX login_failures_by_end ON login_failures (forgotten_at_ms);

CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  action TEXT NOT NULL,
  account_id TEXT,
  address TEXT,
  details TEXT NOT NULL,
  keep_until_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_of_account ON audit (account_id, id) WHERE account_id IS NOT NULL;
CREATE INDEX audit_by_end ON audit (keep_until_ms, id);
CREATE INDEX audit_of_action ON audit (account_id, action, id);
`

/** Makes the tables in an empty database. */
export function createSchema(db: DatabaseSync): void {
  const header = `PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version};`
  db.exec(`BEGIN; ${header} ${tables} COMMIT`)
}

/** Checks that this version of this program made the database. Changes nothing. */
export function checkSchema(db: DatabaseSync): Result<null, SchemaProblem> {
  if (db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined) {
    const hint = 'restore a backup, or, to begin with an empty registry, move it away'
    return fail({ what: 'it is empty: what was in it is lost', hint })
  }
  if (headerOf(db, 'application_id') !== applicationId) {
    const what = 'it is a database of something else than this program'
    return fail({ what, hint: 'name another folder, or move the file away' })
  }
  const found = headerOf(db, 'user_version')
  if (found === version) return ok(null)
  const maker = found > version ? 'a newer version' : 'another version'
  const what = `${maker} of this program made it (schema ${found}, this one knows ${version})`
  return fail({ what, hint: 'use that version, or restore a backup of this one' })
}

function headerOf(db: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name])
}
