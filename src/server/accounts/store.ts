import type { Kysely, UpdateResult } from 'kysely'
import type { Database } from '../database/database.ts'
import {
  type AccountRow,
  type AccountTables,
  type AuditRow,
  type NewAccount,
  type NewServiceToken,
  type NewSession,
  openTables,
  type ServiceTokenRow,
  type SessionRow,
} from './schema.ts'

type Db = Kysely<AccountTables>

const maxSessions = 1000
const touchEveryMs = 60_000
/** More than a year, so that a yearly review finds every change of who may do what. */
const auditKeptMs = 400 * 24 * 60 * 60 * 1000

/**
 * Accounts, sessions, service tokens, one-time codes and the audit. A method that changes several
 * rows changes all or none, and what it acknowledged survives the end of the process. Times are
 * milliseconds of the Unix epoch; ids, hashes and checked texts come from the caller. Every method
 * may reject with `storage_failed` or `storage_full`.
 */
export class AccountStore {
  /** A UUID made with the tables: names this accounts server for as long as its accounts live. */
  readonly registryId: string
  /** The tables were made by this call of `open`. */
  readonly isNew: boolean
  readonly #db: Db

  private constructor(db: Db, id: string, isNew: boolean) {
    this.#db = db
    this.registryId = id
    this.isNew = isNew
  }

  /**
   * Makes the tables where there are none; without `create` that is an error. Closes the database
   * when it fails.
   */
  static async open(database: Database<AccountTables>, create = true): Promise<AccountStore> {
    try {
      const { id, isNew } = await openTables(database, create)
      return new AccountStore(database.db, id, isNew)
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
      if (codeHash !== undefined) {
        const name = await findCode(db, codeHash, createdAtMs)
        if (name !== usernameKey) return 'code_invalid'
      }
      const names = db.selectFrom('reservedNames').selectAll().where('untilMs', '>', createdAtMs)
      const reserved = await names.where('usernameKey', '=', usernameKey).executeTakeFirst()
      if (reserved !== undefined) return 'taken'
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

  async getAccount(id: string): Promise<AccountRow | null> {
    const query = this.#db.selectFrom('accounts').selectAll().where('id', '=', id)
    return (await query.executeTakeFirst()) ?? null
  }

  /** By user name. */
  listAccounts(): Promise<AccountRow[]> {
    return this.#db.selectFrom('accounts').selectAll().orderBy('usernameKey').execute()
  }

  /** Disabling ends nothing by itself: every look-up of a session sees it. */
  updateAccount(
    id: string,
    changes: Partial<Pick<AccountRow, 'email' | 'emailKey' | 'team' | 'disabledAtMs'>>,
  ): Promise<'changed' | 'unknown' | 'taken'> {
    return this.#db.transaction().execute(async db => {
      if (changes.emailKey !== undefined) {
        const others = db.selectFrom('accounts').select('id').where('id', '!=', id)
        const other = await others.where('emailKey', '=', changes.emailKey).executeTakeFirst()
        if (other !== undefined) return 'taken'
      }
      const query = db.updateTable('accounts').set(changes).where('id', '=', id)
      return isChanged(await query.executeTakeFirst()) ? 'changed' : 'unknown'
    })
  }

  /** A better hash of the same password; false when the password was changed meanwhile. */
  async replaceHash(id: string, oldHash: string, newHash: string): Promise<boolean> {
    const result = await this.#db
      .updateTable('accounts')
      .set({ passwordHash: newHash })
      .where(eb => eb.and({ id, passwordHash: oldHash }))
      .executeTakeFirst()
    return isChanged(result)
  }

  /**
   * Every session but `keepSessionId` ends, and so do the code of the account and, with `endTokens`,
   * its service tokens. Returns what ended; null when the hash is not `oldHash` any more (null:
   * whatever it is).
   */
  changePassword(change: {
    id: string
    oldHash: string | null
    newHash: string
    keepSessionId: string | null
    endTokens: boolean
    nowMs: number
  }): Promise<{ sessions: number; tokens: ServiceTokenRow[] } | null> {
    const { id, oldHash, newHash, keepSessionId, endTokens, nowMs } = change
    return this.#db.transaction().execute(async db => {
      let update = db.updateTable('accounts').set({ passwordHash: newHash }).where('id', '=', id)
      if (oldHash !== null) update = update.where('passwordHash', '=', oldHash)
      const account = await update.returning('usernameKey').executeTakeFirst()
      if (account === undefined) return null
      await db.deleteFrom('codes').where('usernameKey', '=', account.usernameKey).execute()
      const others = endSessions(db, id, nowMs).where('id', '!=', keepSessionId ?? '')
      const { numUpdatedRows } = await others.executeTakeFirst()
      const tokens = endTokens
        ? await revokeServiceTokens(db, id, nowMs).returningAll().execute()
        : []
      return { sessions: Number(numUpdatedRows), tokens: tokens.map(toServiceToken) }
    })
  }

  /** All that belongs to it but its audit entries goes. False: no such account. */
  deleteAccount(id: string, nameReservedUntilMs: number): Promise<boolean> {
    return this.#db.transaction().execute(async db => {
      // Sessions and service tokens go with it (ON DELETE CASCADE).
      const query = db.deleteFrom('accounts').where('id', '=', id).returning('usernameKey')
      const account = await query.executeTakeFirst()
      if (account === undefined) return false
      const { usernameKey } = account
      await db.deleteFrom('codes').where('usernameKey', '=', usernameKey).execute()
      const untilMs = nameReservedUntilMs
      await db
        .insertInto('reservedNames')
        .values({ usernameKey, untilMs })
        .onConflict(conflict => conflict.column('usernameKey').doUpdateSet({ untilMs }))
        .execute()
      return true
    })
  }

  /**
   * False when the account is gone or disabled, or has another password by now. Beyond 1000 living
   * sessions of an account the oldest end.
   */
  createSession(session: NewSession, passwordHash: string): Promise<boolean> {
    const { accountId, createdAtMs } = session
    return this.#db.transaction().execute(async db => {
      // Changes nothing: it locks the row, so that no change of the password happens meanwhile.
      const lock = await db
        .updateTable('accounts')
        .set({ passwordHash })
        .where(eb => eb.and({ id: accountId, passwordHash, disabledAtMs: null }))
        .executeTakeFirst()
      if (!isChanged(lock)) return false
      await db.insertInto('sessions').values(session).execute()
      const oldest = db
        .selectFrom('sessions')
        .select('id')
        .where(eb => eb.and({ accountId, endedAtMs: null }))
        .orderBy('createdAtMs', 'desc')
        .limit(maxSessions)
        .offset(maxSessions)
      await endSessions(db, accountId, createdAtMs).where('id', 'in', oldest).execute()
      return true
    })
  }

  /** Also one that is over. */
  async findSession(id: string): Promise<{ session: SessionRow; account: AccountRow } | null> {
    const query = this.#db.selectFrom('sessions').selectAll().where('id', '=', id)
    const session = await query.executeTakeFirst()
    if (session === undefined) return null
    const account = await this.getAccount(session.accountId)
    return account && { session, account }
  }

  /**
   * Stores the next refresh token. False unless `fromHash` is the current one and the session has
   * neither ended nor expired.
   */
  async rotateSession(rotation: {
    id: string
    fromHash: string
    toHash: string
    seed: string
    nowMs: number
  }): Promise<boolean> {
    const { id, fromHash, toHash, seed, nowMs } = rotation
    const result = await this.#db
      .updateTable('sessions')
      .set({ previousHash: fromHash, tokenHash: toHash, seed, rotatedAtMs: nowMs })
      .where(eb => eb.and({ id, tokenHash: fromHash, endedAtMs: null }))
      .where('expiresAtMs', '>', nowMs)
      .executeTakeFirst()
    return isChanged(result)
  }

  /** False when the account has no such living session. */
  async endSession(accountId: string, id: string, nowMs: number): Promise<boolean> {
    const query = endSessions(this.#db, accountId, nowMs).where('id', '=', id)
    return isChanged(await query.executeTakeFirst())
  }

  /** Returns how many ended. */
  async endSessions(accountId: string, nowMs: number): Promise<number> {
    const result = await endSessions(this.#db, accountId, nowMs).executeTakeFirst()
    return Number(result.numUpdatedRows)
  }

  async createServiceToken(token: NewServiceToken): Promise<void> {
    const row = { ...token, scopes: JSON.stringify(token.scopes) }
    await this.#db.insertInto('serviceTokens').values(row).execute()
  }

  /** Also one that is expired or revoked. */
  async findServiceToken(
    secretHash: string,
  ): Promise<{ token: ServiceTokenRow; account: AccountRow } | null> {
    const query = this.#db.selectFrom('serviceTokens').selectAll()
    const row = await query.where('secretHash', '=', secretHash).executeTakeFirst()
    if (row === undefined) return null
    const account = await this.getAccount(row.accountId)
    return account && { token: toServiceToken(row), account }
  }

  /** Stores the time of use, at most once a minute for each token. */
  async touchServiceToken(id: string, nowMs: number): Promise<void> {
    const before = nowMs - touchEveryMs
    await this.#db
      .updateTable('serviceTokens')
      .set({ lastUsedAtMs: nowMs })
      .where('id', '=', id)
      .where(eb => eb.or([eb('lastUsedAtMs', 'is', null), eb('lastUsedAtMs', '<=', before)]))
      .execute()
  }

  /** Living ones, newest first. */
  async listServiceTokens(accountId: string, nowMs: number): Promise<ServiceTokenRow[]> {
    const rows = await this.#db
      .selectFrom('serviceTokens')
      .selectAll()
      .where(eb => eb.and({ accountId, revokedAtMs: null }))
      .where('expiresAtMs', '>', nowMs)
      .orderBy('createdAtMs', 'desc')
      .orderBy('id', 'desc')
      .execute()
    return rows.map(toServiceToken)
  }

  /** False when the account has no such living token. */
  async revokeServiceToken(accountId: string, id: string, nowMs: number): Promise<boolean> {
    const query = revokeServiceTokens(this.#db, accountId, nowMs).where('id', '=', id)
    return isChanged(await query.executeTakeFirst())
  }

  /** Returns those that ended. */
  async revokeServiceTokens(accountId: string, nowMs: number): Promise<ServiceTokenRow[]> {
    const rows = await revokeServiceTokens(this.#db, accountId, nowMs).returningAll().execute()
    return rows.map(toServiceToken)
  }

  /** A one-time code of a user name, in place of an earlier one. */
  async setCode(code: { usernameKey: string; hash: string; expiresAtMs: number }): Promise<void> {
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

  /** Uses the code up; false when it is not that of the user name, used or expired. */
  async useCode(usernameKey: string, hash: string, nowMs: number): Promise<boolean> {
    const query = this.#db.deleteFrom('codes').where('expiresAtMs', '>', nowMs)
    const found = query.where(eb => eb.and({ usernameKey, hash }))
    const { numDeletedRows } = await found.executeTakeFirst()
    return numDeletedRows > 0n
  }

  async audit(entry: AuditRow): Promise<void> {
    const row = { ...entry, details: JSON.stringify(entry.details) }
    await this.#db.insertInto('audit').values(row).execute()
  }

  /** Newest first. */
  async listAudit(filter: { accountId?: string; limit: number }): Promise<AuditRow[]> {
    let query = this.#db.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(filter.limit)
    if (filter.accountId !== undefined) query = query.where('accountId', '=', filter.accountId)
    const rows = await query.execute()
    return rows.map(({ id, details, ...row }) => ({ ...row, details: JSON.parse(details) }))
  }

  /** Removes what is over, and audit entries older than 400 days. */
  async sweep(nowMs: number): Promise<void> {
    const db = this.#db
    await db
      .deleteFrom('sessions')
      .where(eb => eb.or([eb('expiresAtMs', '<=', nowMs), eb('endedAtMs', 'is not', null)]))
      .execute()
    await db
      .deleteFrom('serviceTokens')
      .where(eb => eb.or([eb('expiresAtMs', '<=', nowMs), eb('revokedAtMs', 'is not', null)]))
      .execute()
    await db.deleteFrom('codes').where('expiresAtMs', '<=', nowMs).execute()
    await db.deleteFrom('reservedNames').where('untilMs', '<=', nowMs).execute()
    const auditEndMs = nowMs - auditKeptMs
    await db.deleteFrom('audit').where('atMs', '<=', auditEndMs).execute()
  }

  /** Resolves when the store takes changes: writes one, at most once a second. */
  async ping(): Promise<void> {
    const nowMs = Date.now()
    await this.#db
      .updateTable('accountsServer')
      .set({ checkedAtMs: nowMs })
      .where('checkedAtMs', '<=', nowMs - 1000)
      .execute()
  }

  close(): Promise<void> {
    return this.#db.destroy()
  }
}

function isChanged({ numUpdatedRows }: UpdateResult): boolean {
  return numUpdatedRows > 0n
}

function toServiceToken(row: Omit<ServiceTokenRow, 'scopes'> & { scopes: string }) {
  return { ...row, scopes: JSON.parse(row.scopes) as string[] }
}

async function findCode(db: Db, hash: string, nowMs: number): Promise<string | null> {
  const query = db.selectFrom('codes').select('usernameKey').where('hash', '=', hash)
  const row = await query.where('expiresAtMs', '>', nowMs).executeTakeFirst()
  return row?.usernameKey ?? null
}

/** Ends the living sessions of an account; the caller may narrow it. */
function endSessions(db: Db, accountId: string, nowMs: number) {
  return db
    .updateTable('sessions')
    .set({ endedAtMs: nowMs })
    .where(eb => eb.and({ accountId, endedAtMs: null }))
    .where('expiresAtMs', '>', nowMs)
}

/** Revokes the living service tokens of an account; the caller may narrow it. */
function revokeServiceTokens(db: Db, accountId: string, nowMs: number) {
  return db
    .updateTable('serviceTokens')
    .set({ revokedAtMs: nowMs })
    .where(eb => eb.and({ accountId, revokedAtMs: null }))
    .where('expiresAtMs', '>', nowMs)
}
