import type { Migration } from '../../artefacts/database/migrations.ts'

/** Texts are compared byte by byte, as SQLite does: `"C"`. Times are milliseconds of the epoch. */
const accounts = `
CREATE TABLE accounts_meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
INSERT INTO accounts_meta VALUES ('registry_id', gen_random_uuid()), ('test_write', '0');

-- Encrypted with the wrapping key of the accounts servers.
CREATE TABLE accounts_keys (
  one BOOLEAN PRIMARY KEY CHECK (one),
  wrapped BYTEA NOT NULL
);

CREATE TABLE accounts (
  id TEXT COLLATE "C" PRIMARY KEY,
  username TEXT NOT NULL,
  username_key TEXT COLLATE "C" NOT NULL UNIQUE,
  email TEXT NOT NULL,
  email_key TEXT COLLATE "C" NOT NULL UNIQUE,
  password_hash TEXT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  disabled_at_ms BIGINT,
  team TEXT
);

CREATE TABLE reserved_names (
  username_key TEXT COLLATE "C" PRIMARY KEY,
  until_ms BIGINT NOT NULL
);

CREATE TABLE sessions (
  id TEXT COLLATE "C" PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  created_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT NOT NULL,
  address TEXT,
  counter BIGINT NOT NULL DEFAULT 0 CHECK (counter >= 0),
  rotated_at_ms BIGINT,
  revoked_at_ms BIGINT,
  revoked_reason TEXT
);
CREATE INDEX sessions_of_account ON sessions (account_id, created_at_ms);
CREATE INDEX sessions_by_end ON sessions (expires_at_ms);
CREATE INDEX sessions_revoked ON sessions (revoked_at_ms) WHERE revoked_at_ms IS NOT NULL;

CREATE TABLE service_tokens (
  id TEXT COLLATE "C" PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  secret_hash TEXT COLLATE "C" NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT NOT NULL,
  last_used_at_ms BIGINT,
  revoked_at_ms BIGINT
);
CREATE INDEX service_tokens_of_account ON service_tokens (account_id, created_at_ms);

CREATE TABLE invites (
  username_key TEXT COLLATE "C" PRIMARY KEY,
  hash TEXT COLLATE "C" NOT NULL,
  expires_at_ms BIGINT NOT NULL
);

CREATE TABLE reset_codes (
  account_id TEXT COLLATE "C" PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  hash TEXT COLLATE "C" NOT NULL,
  expires_at_ms BIGINT NOT NULL
);
CREATE INDEX reset_codes_by_hash ON reset_codes (hash);

CREATE TABLE login_failures (
  name TEXT COLLATE "C" NOT NULL,
  source TEXT COLLATE "C" NOT NULL,
  forgotten_at_ms BIGINT NOT NULL,
  last_ms BIGINT NOT NULL,
  PRIMARY KEY (name, source)
);
CREATE INDEX login_failures_by_end ON login_failures (forgotten_at_ms);

-- account_id is '' for callers without an account.
CREATE TABLE accounts_audit (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms BIGINT NOT NULL,
  action TEXT COLLATE "C" NOT NULL,
  account_id TEXT COLLATE "C" NOT NULL,
  address TEXT,
  details TEXT NOT NULL,
  keep_until_ms BIGINT NOT NULL
);
CREATE INDEX accounts_audit_of_account ON accounts_audit (account_id, id);
CREATE INDEX accounts_audit_of_action ON accounts_audit (account_id, action, id);
CREATE INDEX accounts_audit_by_end ON accounts_audit (keep_until_ms, id);
`

export const migrations: readonly Migration[] = [{ number: 1, name: 'accounts', sql: accounts }]
