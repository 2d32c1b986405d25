import type { Migration } from '../../database/migrations.ts'

/** `SvCr`, in the header of the file: identifies a database of this program. */
export const applicationId = 0x53764372

const accounts = `
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
  disabled_at_ms INTEGER
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
  hash TEXT PRIMARY KEY,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE reset_codes (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  hash TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE login_failures (
  key TEXT PRIMARY KEY,
  count INTEGER NOT NULL,
  window_started_ms INTEGER NOT NULL,
  consecutive INTEGER NOT NULL,
  last_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  action TEXT NOT NULL,
  account_id TEXT,
  address TEXT,
  details TEXT NOT NULL
) STRICT;
CREATE INDEX audit_of_account ON audit (account_id, id) WHERE account_id IS NOT NULL;
`

/** Entries of before are kept as long as security events: 400 days. */
const auditRetention = `
ALTER TABLE audit ADD COLUMN keep_until_ms INTEGER NOT NULL DEFAULT 0;
UPDATE audit SET keep_until_ms = at_ms + 34560000000;
CREATE INDEX audit_by_end ON audit (keep_until_ms, id);
CREATE INDEX audit_of_action ON audit (account_id, action, id);
`

/** Counts of the old table mean something else, so they are not carried over. */
const failuresBySource = `
DROP TABLE login_failures;
CREATE TABLE login_failures (
  name TEXT NOT NULL,
  source TEXT NOT NULL,
  forgotten_at_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (name, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX login_failures_by_end ON login_failures (forgotten_at_ms);
CREATE INDEX reset_codes_by_hash ON reset_codes (hash);
`

const teams = 'ALTER TABLE accounts ADD COLUMN team TEXT'

export const migrations: readonly Migration[] = [
  { number: 1, name: 'accounts', sql: accounts },
  { number: 2, name: 'audit retention', sql: auditRetention },
  { number: 3, name: 'failures by source', sql: failuresBySource },
  { number: 4, name: 'teams', sql: teams },
]
