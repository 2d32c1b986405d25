import type { Migration } from '../../database/migrations.ts'

/** Texts are compared byte by byte: `"C"`. Leases and ages are by the clock of the database. */
const joined = `
-- Gateways that run. A lease that is not renewed runs out.
CREATE TABLE gateways (
  id TEXT COLLATE "C" PRIMARY KEY,
  -- Where the others reach it, and what they present there.
  address TEXT NOT NULL,
  secret TEXT NOT NULL,
  lease_until TIMESTAMPTZ NOT NULL
);

-- An instance id belongs to the account that first used it.
CREATE TABLE joined_ids (
  instance_id TEXT COLLATE "C" PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL,
  used_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX joined_ids_of_account ON joined_ids (account_id, used_at);

-- Numbers of links and of changes: the later one is the larger one.
CREATE SEQUENCE joined_changes;

CREATE TABLE joined_instances (
  instance_id TEXT COLLATE "C" PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL,
  -- Whose it is, as JSON.
  principal TEXT NOT NULL,
  -- As it was told.
  record TEXT NOT NULL,
  link BIGINT NOT NULL,
  -- The gateway that holds the link; null: it is lost.
  gateway TEXT COLLATE "C",
  -- Why and when it was lost, or the instance ended.
  cause TEXT NOT NULL DEFAULT '',
  lost_at TIMESTAMPTZ,
  -- Listed no more: it stays for a while, so that every gateway learns the cause.
  is_over BOOLEAN NOT NULL DEFAULT false,
  change BIGINT NOT NULL
);
CREATE INDEX joined_instances_of_account ON joined_instances (account_id);
CREATE INDEX joined_instances_of_gateway ON joined_instances (gateway);
`

export const migrations: readonly Migration[] = [{ number: 1, name: 'joined', sql: joined }]
