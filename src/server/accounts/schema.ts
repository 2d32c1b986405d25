import { type Generated, type Insertable, sql } from 'kysely'
import { ServiceError } from '../../lib/util/errors.ts'
import { type Database, noAccountsServer } from '../database/database.ts'

export interface AccountRow {
  id: string
  /** As typed. */
  username: string
  /** Folded: what is unique. */
  usernameKey: string
  email: string
  emailKey: string
  /** PHC string. */
  passwordHash: string
  createdAtMs: number
  disabledAtMs: number | null
  team: string | null
}

/** A login. Refresh tokens are stored as SHA-256 only. */
export interface SessionRow {
  id: string
  accountId: string
  tokenHash: string
  previousHash: string | null
  /** With the previous token it makes the current one (HMAC), for a repeated refresh. */
  seed: string
  createdAtMs: number
  /** Refreshing never extends it. */
  expiresAtMs: number
  rotatedAtMs: number | null
}

export interface ServiceTokenRow {
  id: string
  accountId: string
  name: string
  /** SHA-256 in hex. */
  secretHash: string
  /** Separated by spaces. */
  scopes: string
  createdAtMs: number
  expiresAtMs: number
}

/** A one-time code of a user name, for a new account or a new password. */
export interface CodeRow {
  usernameKey: string
  hash: string
  expiresAtMs: number
}

export interface AccountAuditEntry {
  atMs: number
  /** As in `login.failed`, `logout`. */
  action: string
  accountId: string | null
  address: string | null
  /** Small, no secrets. */
  details: Record<string, string | number | null>
}

export type NewAccount = Insertable<AccountRow>
export type NewSession = Insertable<SessionRow>
export type NewServiceToken = Insertable<ServiceTokenRow>

/** The tables, named in snake case in the database. What has ended is deleted. */
export interface AccountTables {
  /** One row. */
  accountsServer: { version: number }
  accounts: AccountRow
  sessions: SessionRow
  serviceTokens: ServiceTokenRow
  codes: CodeRow
  /** `details` is JSON. */
  audit: Omit<AccountAuditEntry, 'details'> & { id: Generated<number>; details: string }
}

/** Raised when the tables change. */
const version = 1
/** Of the servers that make the tables at the same time in PostgreSQL. */
const lockNumber = 7_265_819

/** Times are milliseconds. `serial` is the type of a key that numbers itself. */
const tablesOf = (serial: 'integer' | 'bigserial') => `
  create table accounts (
    id text primary key,
    username text not null,
    username_key text not null unique,
    email text not null,
    email_key text not null unique,
    password_hash text not null,
    created_at_ms bigint not null,
    disabled_at_ms bigint,
    team text
  );
  create table sessions (
    id text primary key,
    account_id text not null references accounts (id) on delete cascade,
    token_hash text not null,
    previous_hash text,
    seed text not null,
    created_at_ms bigint not null,
    expires_at_ms bigint not null,
    rotated_at_ms bigint
  );
  create index sessions_of_account on sessions (account_id);
  create table service_tokens (
    id text primary key,
    account_id text not null references accounts (id) on delete cascade,
    name text not null,
    secret_hash text not null unique,
    scopes text not null,
    created_at_ms bigint not null,
    expires_at_ms bigint not null
  );
  create index service_tokens_of_account on service_tokens (account_id);
  create table codes (
    username_key text primary key, hash text not null, expires_at_ms bigint not null
  );
  create table audit (
    id ${serial} primary key,
    at_ms bigint not null,
    action text not null,
    account_id text,
    address text,
    details text not null
  );
  create index audit_of_account on audit (account_id, id);
  create index audit_by_time on audit (at_ms);

  -- Of rate-limiter-flexible. With SQLite the server counts in memory.
  create table login_failures (
    key varchar(255) primary key, points integer not null default 0, expire bigint
  );`

/**
 * Makes the tables where there are none, also when several servers start at once; returns whether
 * this call made them. Throws `storage_failed` for tables of another version, which stay as they
 * are, and without `create` for none.
 */
export function openTables(database: Database<AccountTables>, create: boolean): Promise<boolean> {
  const { db, pool, name } = database
  return db.transaction().execute(async tables => {
    if (pool !== null) await sql`select pg_advisory_xact_lock(${lockNumber})`.execute(tables)
    await sql`create table if not exists accounts_server (version integer not null)`.execute(tables)
    const server = await tables.selectFrom('accountsServer').selectAll().executeTakeFirst()
    if (server?.version === version) return false
    if (server !== undefined) {
      const hint = 'use the newest version that runs on this database'
      const message = `${name} was made by another version of this program`
      throw new ServiceError('storage_failed', message, { hint })
    }
    if (!create) throw noAccountsServer(name)
    for (const statement of tablesOf(pool === null ? 'integer' : 'bigserial').split(';')) {
      if (statement.trim() !== '') await sql.raw(statement).execute(tables)
    }
    await tables.insertInto('accountsServer').values({ version }).execute()
    return true
  })
}
