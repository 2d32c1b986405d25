import type { Database, Queries } from '../../artefacts/database/pool.ts'
import type {
  AccountRow,
  AccountStore,
  NewSession,
  SessionRow,
  SessionState,
} from '../account-store.ts'
import { ownAccountColumns } from './columns.ts'

const columns = `sessions.id, account_id AS "accountId", sessions.created_at_ms AS "createdAtMs",
  expires_at_ms AS "expiresAtMs", address, counter,
  rotated_at_ms AS "rotatedAtMs", revoked_at_ms AS "revokedAtMs",
  revoked_reason AS "revokedReason"`

const insertColumns = 'id, account_id, created_at_ms, expires_at_ms, address'
const insert = `INSERT INTO sessions (${insertColumns}) VALUES ($1, $2, $3, $4, $5)`
// FOR SHARE: a change of the password under way either ends this session or prevents it.
const begin = `INSERT INTO sessions (${insertColumns})
  SELECT $1, id, $3::bigint, $4::bigint, $5 FROM accounts
  WHERE id = $2 AND disabled_at_ms IS NULL AND ($6::text IS NULL OR password_hash = $6) FOR SHARE`
// Of every request. One statement, so that session and account are of one moment.
const find = `SELECT ${columns}, ${ownAccountColumns},
  accounts.created_at_ms AS "accountCreatedAtMs"
  FROM sessions JOIN accounts ON accounts.id = account_id WHERE sessions.id = $1`
const rotate = `UPDATE sessions SET counter = counter + 1, rotated_at_ms = $1
  WHERE id = $2 AND counter = $3 AND revoked_at_ms IS NULL AND expires_at_ms > $1`
const list = `SELECT ${columns} FROM sessions
  WHERE account_id = $1 AND revoked_at_ms IS NULL AND expires_at_ms > $2
  ORDER BY created_at_ms DESC, id DESC`
const addresses = `SELECT DISTINCT address FROM sessions
  WHERE account_id = $1 AND address IS NOT NULL`
const revokeAll = `UPDATE sessions SET revoked_at_ms = $1, revoked_reason = $2
  WHERE account_id = $3 AND revoked_at_ms IS NULL AND expires_at_ms > $1`
const revokeOne = `${revokeAll} AND id = $4`

/** Inserts in a transaction of the caller, whatever the state of the account. */
export async function insertSession(queries: Queries, session: NewSession): Promise<void> {
  await queries.change(insert, ...insertValues(session))
}

const insertValues = (session: NewSession) => {
  const { id, accountId, createdAtMs, expiresAtMs, address } = session
  return [id, accountId, createdAtMs, expiresAtMs, address] as const
}

export function sessionsTable(database: Database) {
  return {
    async createSession(session, { passwordHash = null } = {}) {
      const values = [...insertValues(session), passwordHash] as const
      return (await database.change('a session was not created', begin, ...values)) > 0
    },

    async findSession(id) {
      const row = await database.row<FoundRow>('a session was not found', find, id)
      return row === null ? null : toState(row)
    },

    rotateSession: async (id, counter, nowMs) =>
      (await database.change('a session was not refreshed', rotate, nowMs, id, counter)) > 0,

    listSessions: (accountId, nowMs) =>
      database.rows<SessionRow>('sessions were not listed', list, accountId, nowMs),

    async listSessionAddresses(accountId) {
      const what = 'session addresses were not listed'
      const rows = await database.rows<{ address: string }>(what, addresses, accountId)
      return rows.map(({ address }) => address)
    },

    async revokeSession(accountId, id, reason, nowMs) {
      const values = [nowMs, reason, accountId, id] as const
      return (await database.change('a session was not ended', revokeOne, ...values)) > 0
    },

    revokeSessions: (accountId, reason, nowMs) =>
      database.change('sessions were not ended', revokeAll, nowMs, reason, accountId),
  } satisfies Partial<AccountStore>
}

type FoundRow = SessionRow &
  Omit<AccountRow, 'id' | 'createdAtMs'> & { readonly accountCreatedAtMs: number }

function toState(row: FoundRow): SessionState {
  const { username, usernameKey, email, emailKey, passwordHash, disabledAtMs, ...rest } = row
  const { accountCreatedAtMs, team, ...session } = rest
  return {
    session,
    account: {
      id: session.accountId,
      username,
      usernameKey,
      email,
      emailKey,
      passwordHash,
      disabledAtMs,
      team,
      createdAtMs: accountCreatedAtMs,
    },
  }
}
