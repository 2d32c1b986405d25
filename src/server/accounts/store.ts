import { type Kysely, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import {
  type AccountRow,
  type AccountTables,
  type AccountAuditEntry,
  type CodeRow,
  type NewAccount,
  type NewServiceToken,
  type NewSession,
  openTables,
  type ServiceTokenRow,
  type SessionRow,
} from './schema.ts'

type Db = Kysely<AccountTables>

/** An account as it was found when its password or code was checked. */
type Authenticated = Pick<AccountRow, 'id' | 'usernameKey' | 'passwordHash'>

/** The sessions and service tokens of an account that ended. */
export interface EndedAccess {
  sessions: number
  tokens: ServiceTokenRow[]
}

/** More than a year, so that a yearly review finds every change of who may do what. */
const auditKeptMs = 400 * 24 * 60 * 60 * 1000

/**
 * Accounts, sessions, service tokens, one-time codes and the audit. A method that changes several
 * rows changes all or none, and what it acknowledged survives the end of the process. Times are
 * milliseconds of the Unix epoch; ids, hashes and checked texts come from the caller. Every method
 * may reject with `storage_failed` or `storage_full`.
 */
export class AccountStore {
  /** The tables were made by this call of `open`. */
  readonly isNew: boolean
  readonly #db: Db

  private constructor(db: Db, isNew: boolean) {
    this.#db = db
    this.isNew = isNew
  }

  /**
   * Makes the tables where there are none; without `create` that is an error. Closes the database
   * when it fails.
   */
  static async open(database: Database<AccountTables>, create = true): Promise<AccountStore> {
    try {
      return new AccountStore(database.db, await openTables(database, create))
    } catch (error) {
      await database.db.destroy()
      throw error
    }
  }

  /**
   * `taken` does not say which of name and address. With `codeHash`, uses up the code of the user
   * name.
   */
  createAccount(
    account: NewAccount,
    session: NewSession,
    codeHash?: string,
  ): Promise<'created' | 'taken' | 'code_invalid'> {
    const { usernameKey, createdAtMs } = account
    return this.#db.transaction().execute(async db => {
      // First: without a code no caller learns which names are taken.
      if (codeHash !== undefined && (await findCode(db, codeHash, createdAtMs)) !== usernameKey) {
        return 'code_invalid'
      }
      const { numInsertedOrUpdatedRows: created } = await db
        .insertInto('accounts')
        .values(account)
        .onConflict(conflict => conflict.doNothing())
        .executeTakeFirstOrThrow()
      if (created === 0n) return 'taken'
      // Also one that was not given: it would reset the password of the new account.
      await db.deleteFrom('codes').where('usernameKey', '=', usernameKey).execute()
      await db.insertInto('sessions').values(session).execute()
      return 'created'
    })
  }

  /** By the folded user name or the folded email address. */
  async findAccount(key: string): Promise<AccountRow | null> {
    const account = await this.#db
      .selectFrom('accounts')
      .selectAll()
      .where(eb => eb.or([eb('usernameKey', '=', key), eb('emailKey', '=', key)]))
      .executeTakeFirst()
    return account ?? null
  }

  /** By user name. */
  listAccounts(): Promise<AccountRow[]> {
    return this.#db.selectFrom('accounts').selectAll().orderBy('usernameKey').execute()
  }

  /** Rejects with `storage_failed` for the address of another account. */
  async updateAccount(
    id: string,
    changes: Partial<Pick<AccountRow, 'email' | 'emailKey' | 'team' | 'disabledAtMs'>>,
  ): Promise<void> {
    await this.#db.updateTable('accounts').set(changes).where('id', '=', id).execute()
  }

  /** Ends its sessions and service tokens, too. */
  disableAccount(id: string, disabledAtMs: number): Promise<EndedAccess> {
    return this.#db.transaction().execute(async db => {
      await db.updateTable('accounts').set({ disabledAtMs }).where('id', '=', id).execute()
      return endAccess(db, id)
    })
  }

  /** All that belongs to it but its audit entries goes. */
  deleteAccount(id: string, usernameKey: string): Promise<void> {
    return this.#db.transaction().execute(async db => {
      // Sessions and service tokens go with it (ON DELETE CASCADE).
      await db.deleteFrom('accounts').where('id', '=', id).execute()
      await db.deleteFrom('codes').where('usernameKey', '=', usernameKey).execute()
    })
  }

  /**
   * Every session but one ends, and so does the code of the account. False when it is gone or
   * disabled, or got another password meanwhile.
   */
  changePassword(account: Authenticated, newHash: string, keepSessionId: string): Promise<boolean> {
    const { id, usernameKey, passwordHash } = account
    return this.#db.transaction().execute(async db => {
      if (!(await setPassword(db, id, passwordHash, newHash))) return false
      await db.deleteFrom('codes').where('usernameKey', '=', usernameKey).execute()
      const sessions = db.deleteFrom('sessions').where('accountId', '=', id)
      await sessions.where('id', '!=', keepSessionId).execute()
      return true
    })
  }

  /**
   * Uses up the code of the account. Null when it has no such code, is gone or disabled, or got
   * another password meanwhile.
   */
  resetPassword(
    account: Authenticated,
    codeHash: string,
    newHash: string,
    nowMs: number,
  ): Promise<EndedAccess | null> {
    const { id, usernameKey, passwordHash } = account
    return this.#db.transaction().execute(async db => {
      if ((await findCode(db, codeHash, nowMs)) !== usernameKey) return null
      if (!(await setPassword(db, id, passwordHash, newHash))) return null
      await db.deleteFrom('codes').where('usernameKey', '=', usernameKey).execute()
      return endAccess(db, id)
    })
  }

  /** False when the account is gone or disabled, or has another password by now. */
  createSession(session: NewSession, passwordHash: string): Promise<boolean> {
    return this.#db.transaction().execute(async db => {
      // Changes nothing: it locks the row, so that no change of the password happens meanwhile.
      if (!(await setPassword(db, session.accountId, passwordHash, passwordHash))) return false
      await db.insertInto('sessions').values(session).execute()
      return true
    })
  }

  /** Also one that has expired. */
  async findSession(id: string) {
    const query = this.#db.selectFrom('sessions').selectAll().where('id', '=', id)
    const session = await query.executeTakeFirst()
    const account = session && (await this.#getAccount(session.accountId))
    return session && account ? { session, account } : null
  }

  /** Stores the next refresh token. False unless `fromHash` is the current one. */
  async rotateSession(
    id: string,
    fromHash: string,
    next: Pick<SessionRow, 'tokenHash' | 'seed' | 'rotatedAtMs'>,
  ): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('sessions')
      .set({ ...next, previousHash: fromHash })
      .where(eb => eb.and({ id, tokenHash: fromHash }))
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** One session, or every one of an account. */
  async endSessions(which: { id: string } | { accountId: string }): Promise<void> {
    const query = this.#db.deleteFrom('sessions').where(eb => eb.and(which))
    await query.execute()
  }

  /** Ends every session and service token of the account. */
  endAccess(accountId: string): Promise<EndedAccess> {
    return this.#db.transaction().execute(db => endAccess(db, accountId))
  }

  /** False when the session has ended. */
  createServiceToken(token: NewServiceToken, sessionId: string): Promise<boolean> {
    return this.#db.transaction().execute(async db => {
      // Changes nothing: it locks the row, so that the session does not end meanwhile.
      const query = db.updateTable('sessions').set({ id: sessionId }).where('id', '=', sessionId)
      if ((await query.executeTakeFirst()).numUpdatedRows === 0n) return false
      await db.insertInto('serviceTokens').values(token).execute()
      return true
    })
  }

  /** Also one that has expired. */
  async findServiceToken(secretHash: string) {
    const query = this.#db.selectFrom('serviceTokens').selectAll()
    const token = await query.where('secretHash', '=', secretHash).executeTakeFirst()
    const account = token && (await this.#getAccount(token.accountId))
    return token && account ? { token, account } : null
  }

  /** Valid ones, newest first. */
  listServiceTokens(accountId: string, nowMs: number): Promise<ServiceTokenRow[]> {
    return this.#db
      .selectFrom('serviceTokens')
      .selectAll()
      .where('accountId', '=', accountId)
      .where('expiresAtMs', '>', nowMs)
      .orderBy('createdAtMs', 'desc')
      .orderBy('id', 'desc')
      .execute()
  }

  /** False when the account has no such token. */
  async revokeServiceToken(accountId: string, id: string): Promise<boolean> {
    const query = this.#db.deleteFrom('serviceTokens').where(eb => eb.and({ accountId, id }))
    return (await query.executeTakeFirst()).numDeletedRows > 0n
  }

  /** In place of an earlier code of the user name. */
  async setCode(code: CodeRow): Promise<void> {
    const { hash, expiresAtMs } = code
    await this.#db
      .insertInto('codes')
      .values(code)
      .onConflict(conflict => conflict.column('usernameKey').doUpdateSet({ hash, expiresAtMs }))
      .execute()
  }

  /** The folded user name of a code that can be used. */
  findCode(hash: string, nowMs: number): Promise<string | null> {
    return findCode(this.#db, hash, nowMs)
  }

  async audit(entry: AccountAuditEntry): Promise<void> {
    const row = { ...entry, details: JSON.stringify(entry.details) }
    await this.#db.insertInto('audit').values(row).execute()
  }

  /** Newest first. `username` is null also for a deleted account. */
  async listAudit({ accountId, limit }: { accountId?: string; limit: number }) {
    let query = this.#db
      .selectFrom('audit')
      .leftJoin('accounts', 'accounts.id', 'audit.accountId')
      .selectAll('audit')
      .select('accounts.username')
      .orderBy('audit.id', 'desc')
      .limit(limit)
    if (accountId !== undefined) query = query.where('accountId', '=', accountId)
    const rows = await query.execute()
    return rows.map(({ id, details, ...row }) => {
      const parsed: AccountAuditEntry['details'] = JSON.parse(details)
      return { ...row, details: parsed }
    })
  }

  /** Removes what has expired, and audit entries older than 400 days. */
  async sweep(nowMs: number): Promise<void> {
    for (const table of ['sessions', 'serviceTokens', 'codes'] as const) {
      await this.#db.deleteFrom(table).where('expiresAtMs', '<=', nowMs).execute()
    }
    const auditEndMs = nowMs - auditKeptMs
    await this.#db.deleteFrom('audit').where('atMs', '<=', auditEndMs).execute()
  }

  /** Writes the database to a new file; with SQLite only. */
  async copyTo(file: string): Promise<void> {
    await sql`vacuum into ${file}`.execute(this.#db)
  }

  /** Resolves when the database answers. */
  async ping(): Promise<void> {
    await this.#db.selectFrom('accountsServer').selectAll().execute()
  }

  close(): Promise<void> {
    return this.#db.destroy()
  }

  #getAccount(id: string): Promise<AccountRow | undefined> {
    return this.#db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst()
  }
}

/** False when the account is gone or disabled, or has another password by now. */
async function setPassword(db: Db, id: string, oldHash: string, newHash: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('accounts')
    .set({ passwordHash: newHash })
    .where(eb => eb.and({ id, passwordHash: oldHash, disabledAtMs: null }))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

async function findCode(db: Db, hash: string, nowMs: number): Promise<string | null> {
  const query = db.selectFrom('codes').select('usernameKey').where('hash', '=', hash)
  const row = await query.where('expiresAtMs', '>', nowMs).executeTakeFirst()
  return row?.usernameKey ?? null
}

async function endAccess(db: Db, accountId: string): Promise<EndedAccess> {
  const sessions = db.deleteFrom('sessions').where('accountId', '=', accountId)
  const tokens = db.deleteFrom('serviceTokens').where('accountId', '=', accountId)
  // The sessions first: a token that is being made is then there, or is not made.
  const { numDeletedRows } = await sessions.executeTakeFirst()
  return { sessions: Number(numDeletedRows), tokens: await tokens.returningAll().execute() }
}
