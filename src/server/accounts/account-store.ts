/**
 * Where accounts, sessions, service tokens and what belongs to them are kept. A contract: no SQL,
 * no assumption of one process. Every method that changes more than one thing does all of it or
 * nothing, and what it acknowledged survives the end of the process. Times are milliseconds of the
 * Unix epoch. Ids and hashes are made by the caller; texts were checked by the caller.
 *
 * Every method may reject with a `ServiceError`: `storage_failed`, or `storage_full`.
 */
export interface AccountStore {
  /** A UUID made with the store: names this registry for as long as its accounts live. */
  readonly registryId: string

  /** Also uses up the invitation, when one is named. */
  createAccount(
    account: NewAccount,
    options: { readonly inviteHash?: string; readonly session: NewSession },
  ): Promise<CreateOutcome>
  /** By the folded user name or the folded email address. */
  findAccount(key: string): Promise<AccountRow | null>
  getAccount(id: string): Promise<AccountRow | null>
  countAccounts(): Promise<number>
  /** By user name, `after` is the folded name of the last one seen. */
  listAccounts(page: { readonly after?: string; readonly limit: number }): Promise<AccountRow[]>
  /** Disabling ends nothing by itself: every look-up of a session sees it. False: no such account. */
  setDisabled(id: string, disabledAtMs: number | null): Promise<boolean>
  /** A better hash of the same password; false when the password was changed meanwhile. */
  replaceHash(id: string, oldHash: string, newHash: string): Promise<boolean>
  /**
   * A new password: every session but `keepSessionId` ends, and so do reset codes, the count of
   * failures and, with `endTokens`, service tokens. Returns what ended. Null when the hash is not
   * `oldHash` any more (null: whatever it is).
   */
  changePassword(change: {
    readonly id: string
    readonly oldHash: string | null
    readonly newHash: string
    readonly keepSessionId: string | null
    readonly endTokens: boolean
    readonly nowMs: number
  }): Promise<EndedAccess | null>
  /** Its user name stays reserved until `nameReservedUntilMs`; all else but its audit entries goes. */
  deleteAccount(id: string, nameReservedUntilMs: number): Promise<boolean>

  /**
   * False when the account is gone or disabled, or, when `passwordHash` is named, has another one
   * by now: a login that was on its way must not outlive the change of the password.
   */
  createSession(session: NewSession, options?: { readonly passwordHash?: string }): Promise<boolean>
  /** The session with the state of its account: what every request asks for. */
  findSession(id: string): Promise<SessionState | null>
  /**
   * One step of the refresh counter, only from `counter` and only of a session that is not
   * revoked. False: someone else was first, or it is over.
   */
  rotateSession(id: string, counter: number, nowMs: number): Promise<boolean>
  /** Living ones, newest first. */
  listSessions(accountId: string, nowMs: number): Promise<SessionRow[]>
  /** False when there is no such living session of the account. */
  revokeSession(accountId: string, id: string, reason: string, nowMs: number): Promise<boolean>
  /** Returns how many ended. */
  revokeSessions(accountId: string, reason: string, nowMs: number): Promise<number>

  /** False when the account is gone or disabled. */
  createServiceToken(token: NewServiceToken): Promise<boolean>
  /** With the state of its account; also when it is expired or revoked. */
  findServiceToken(secretHash: string): Promise<ServiceTokenState | null>
  /** Notes the use, at most once in a minute for each token. */
  touchServiceToken(id: string, nowMs: number): Promise<void>
  listServiceTokens(accountId: string, nowMs: number): Promise<ServiceTokenRow[]>
  countServiceTokens(accountId: string, nowMs: number): Promise<number>
  revokeServiceToken(accountId: string, id: string, nowMs: number): Promise<boolean>

  createInvite(invite: {
    readonly hash: string
    readonly expiresAtMs: number
    readonly createdAtMs: number
  }): Promise<void>
  /** Would `createAccount` use it up? */
  hasInvite(hash: string, nowMs: number): Promise<boolean>
  deleteInvite(hash: string): Promise<void>
  /** Replaces codes of the account that were not used. False: no such account. */
  createResetCode(code: {
    readonly accountId: string
    readonly hash: string
    readonly expiresAtMs: number
  }): Promise<boolean>
  /** Would `useResetCode` use it up? */
  hasResetCode(accountId: string, hash: string, nowMs: number): Promise<boolean>
  /** Uses the code up; false when it is not the account's, used or expired. */
  useResetCode(accountId: string, hash: string, nowMs: number): Promise<boolean>

  /** Failed logins of a name, whether or not there is such an account. */
  findFailures(key: string): Promise<LoginFailures | null>
  /** Adds one failure and returns the new count; a window that is over begins anew. */
  addFailure(key: string, nowMs: number, windowMs: number): Promise<LoginFailures>
  clearFailures(key: string): Promise<void>

  /**
   * Appends. Of one action of one account only the newest `maxAuditRowsOfAccount` stay, of callers
   * without an account `maxAuditRowsOfStrangers`: no account pushes out entries of others. Of all rows
   * about `maxRows` stay: those with the earliest end go first.
   */
  audit(
    entry: AuditRow,
    keep: { readonly untilMs: number; readonly maxRows: number },
  ): Promise<void>
  /** Newest first. */
  listAudit(filter: { readonly accountId?: string; readonly limit: number }): Promise<AuditRow[]>

  /**
   * Sessions, tokens, invitations, codes, reservations and audit entries that are over since
   * `beforeMs`, and failed logins before it of names that no account has. Returns how many went.
   */
  sweep(beforeMs: number): Promise<number>
  /** A consistent copy while others write; `target` must not exist. */
  backup(target: string): Promise<void>
  /** Resolves when the store takes changes: writes one, at most once a second. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface NewAccount {
  readonly id: string
  /** As typed. */
  readonly username: string
  /** Folded: what is unique. */
  readonly usernameKey: string
  readonly email: string
  readonly emailKey: string
  /** PHC string. */
  readonly passwordHash: string
  readonly createdAtMs: number
}

export interface AccountRow extends NewAccount {
  readonly disabledAtMs: number | null
}

/** `taken` does not say which of name and address. */
export type CreateOutcome = 'created' | 'taken' | 'invite_invalid'

export interface NewSession {
  readonly id: string
  readonly accountId: string
  readonly createdAtMs: number
  /** Never later: neither refreshing nor re-issuing extends it. */
  readonly expiresAtMs: number
  readonly address: string | null
  readonly userAgent: string | null
}

export interface SessionRow extends NewSession {
  /** How often it was rotated. */
  readonly counter: number
  readonly rotatedAtMs: number | null
  readonly revokedAtMs: number | null
  readonly revokedReason: string | null
}

export interface SessionState {
  readonly session: SessionRow
  readonly account: AccountRow
}

export interface NewServiceToken {
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** SHA-256 in hex. */
  readonly secretHash: string
  readonly scopes: readonly string[]
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

export interface ServiceTokenRow extends NewServiceToken {
  readonly lastUsedAtMs: number | null
  readonly revokedAtMs: number | null
}

export interface ServiceTokenState {
  readonly token: ServiceTokenRow
  readonly account: AccountRow
}

/** Living sessions, and service tokens as they were, that ended with a password. */
export interface EndedAccess {
  readonly sessions: number
  readonly tokens: readonly ServiceTokenRow[]
}

export interface LoginFailures {
  /** Within the window. */
  readonly count: number
  readonly windowStartedMs: number
  /** Since the last success or unlock. */
  readonly consecutive: number
  readonly lastMs: number
}

/** Entries of one action of one account: ten a day for a quarter. */
export const maxAuditRowsOfAccount = 1000
/** The same of all callers without an account together, who are many. */
export const maxAuditRowsOfStrangers = 10_000

export interface AuditRow {
  readonly atMs: number
  /** As in `login.failed`, `session.revoked`. */
  readonly action: string
  readonly accountId: string | null
  readonly address: string | null
  /** Small, no secrets. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>
}
