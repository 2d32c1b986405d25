/**
 * Where accounts, sessions, service tokens and what belongs to them are kept. A contract: no SQL,
 * no assumption of one process. Every method that changes more than one thing does all of it or
 * nothing, and what it acknowledged survives the end of the process. Times are milliseconds of the
 * Unix epoch. Ids and hashes are made by the caller; texts were checked by the caller.
 *
 * Every method may reject with a `ServiceError`: `storage_failed`, or `storage_full`.
 */
export interface AccountStore {
  /** A UUID made with the store: names this accounts server for as long as its accounts live. */
  readonly registryId: string

  /** Also uses up the invitation of its user name, when one is named. */
  createAccount(
    account: NewAccount,
    options: { inviteHash?: string; session: NewSession },
  ): Promise<CreateOutcome>
  /** By the folded user name or the folded email address. */
  findAccount(key: string): Promise<AccountRow | null>
  getAccount(id: string): Promise<AccountRow | null>
  /** By user name, `after` is the folded name of the last one seen. */
  listAccounts(page: { after?: string; limit: number }): Promise<AccountRow[]>
  /**
   * Disabling ends nothing by itself: every look-up of a session sees it. False: no such account.
   */
  setDisabled(id: string, disabledAtMs: number | null): Promise<boolean>
  /** Null: in none. False: no such account. */
  setTeam(id: string, team: string | null): Promise<boolean>
  /** A better hash of the same password; false when the password was changed meanwhile. */
  replaceHash(id: string, oldHash: string, newHash: string): Promise<boolean>
  /**
   * A new password: every session but `keepSessionId` ends, and so do reset codes, the count of
   * failures and, with `endTokens`, service tokens. Returns what ended. Null when the hash is not
   * `oldHash` any more (null: whatever it is).
   */
  changePassword(change: {
    id: string
    oldHash: string | null
    newHash: string
    keepSessionId: string | null
    endTokens: boolean
    nowMs: number
  }): Promise<EndedAccess | null>
  /**
   * Its user name stays reserved until `nameReservedUntilMs`; all else but its audit entries goes.
   */
  deleteAccount(id: string, nameReservedUntilMs: number): Promise<boolean>

  /**
   * False when the account is gone or disabled, or, when `passwordHash` is named, has another one
   * by now: a login that was on its way must not outlive the change of the password.
   */
  createSession(session: NewSession, options?: { passwordHash?: string }): Promise<boolean>
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
  /** Addresses that stored sessions of the account were created from, each once. */
  listSessionAddresses(accountId: string): Promise<string[]>
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

  /** Replaces an earlier invitation of the folded user name. */
  createInvite(invite: { usernameKey: string; hash: string; expiresAtMs: number }): Promise<void>
  /** Whether `createAccount` would accept the invitation for the folded user name. */
  hasInvite(usernameKey: string, hash: string, nowMs: number): Promise<boolean>
  /** Replaces codes of the account that were not used. False: no such account. */
  createResetCode(code: { accountId: string; hash: string; expiresAtMs: number }): Promise<boolean>
  /** The account whose usable reset code this is. */
  findByResetCode(hash: string, nowMs: number): Promise<AccountRow | null>
  /** Uses the code up; false when it is not the account's, used or expired. */
  useResetCode(accountId: string, hash: string, nowMs: number): Promise<boolean>

  /** Failures at `name` from `source`. `name` need not be an account. */
  findFailures(name: string, source: string): Promise<LoginFailures | null>
  /** Failures at `name` from each source. */
  listFailures(name: string): Promise<LoginFailures[]>
  /**
   * Adds one failure to each source; each failure takes `forgetMs` to forget. The number of rows
   * is bounded: those with the fewest failures go first.
   */
  addFailure(name: string, sources: string[], nowMs: number, forgetMs: number): Promise<void>
  /** Without `source`, from all of them. */
  clearFailures(name: string, source?: string): Promise<void>

  /**
   * Appends, and keeps only the newest `maxAuditRowsOf(accountId)` entries of the action. Keeps about
   * `maxRows` entries in all: the accounts with the most lose those with the earliest end, so no
   * account loses any while another has more. Callers without an account count as one account.
   */
  audit(entry: AuditRow, keep: { untilMs: number; maxRows: number }): Promise<void>
  /** Newest first. */
  listAudit(filter: { accountId?: string; limit: number }): Promise<AuditRow[]>

  /**
   * Removes sessions, tokens, invitations, codes, reservations and audit entries that ended before
   * `beforeMs`, and failures forgotten before it. Returns how many rows went.
   */
  sweep(beforeMs: number): Promise<number>
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
  readonly team: string | null
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

interface ServiceTokenState {
  readonly token: ServiceTokenRow
  readonly account: AccountRow
}

/** Living sessions, and service tokens as they were, that ended with a password. */
interface EndedAccess {
  readonly sessions: number
  readonly tokens: readonly ServiceTokenRow[]
}

export interface LoginFailures {
  readonly source: string
  /** When all failures are forgotten: each one puts it off by the same time. */
  readonly forgottenAtMs: number
  readonly lastMs: number
}

export interface AuditRow {
  readonly atMs: number
  /** As in `login.failed`, `logout`. */
  readonly action: string
  readonly accountId: string | null
  readonly address: string | null
  /** Small, no secrets. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>
}
