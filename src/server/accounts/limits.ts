import { resolveBounds } from '../../lib/util/members.ts'

/**
 * Every bound of the accounts server, with its default. Those in `PublicAccountLimits` have a row in
 * `docs/limits.md`. Those of connections are in `../../lib/config/limits.ts`.
 */
export interface AccountLimits {
  /** Bytes of the body of a request. */
  maxAuthBodyBytes: number
  /** Arrays and objects inside each other in such a body. */
  maxAuthJsonDepth: number
  /** Characters of the path with its query. */
  maxTargetChars: number
  /** Members of a query. */
  maxQueryMembers: number
  /** Characters of a token. */
  maxTokenChars: number
  /** Wrong members that one answer names. */
  maxReportedErrors: number

  /** An access token is over after this, or with its session. */
  accessTokenMs: number
  /** A session is over after this, however often it was refreshed. */
  refreshTokenMs: number
  /** How far clocks of several machines may be apart. */
  clockToleranceMs: number
  /** A refresh token that was just used gives the same pair again for so long. */
  refreshGraceMs: number
  /** The newest sessions of an account stay, older ones end. */
  maxAccountSessions: number
  /** Service tokens of one account. */
  maxServiceTokens: number
  /** The default lifetime of a service token. */
  serviceTokenMs: number

  /** Memory of one password hash. */
  passwordHashBytes: number
  /** Passes over that memory. */
  passwordHashPasses: number
  /** Passwords hashed at once; 0 = one less than the machine has cores, at least 1. */
  maxHashes: number

  /** Failed logins at one name from one address before each further one has to wait. */
  maxLoginFailures: number
  /** Registrations of one address within an hour. */
  maxRegistrations: number

  /** Rows of the audit table. */
  maxAuditRows: number
  /** Sessions, tokens and codes that are over are removed this often. */
  accountSweepMs: number
  /** They are kept for so long after their end. */
  accountKeepMs: number
}

const KiB = 1024
const minute = 60_000
const day = 24 * 60 * minute

/** Sizes in bytes, times in milliseconds. */
export const defaultAccountLimits: Readonly<AccountLimits> = {
  maxAuthBodyBytes: 16 * KiB,
  maxAuthJsonDepth: 16,
  maxTargetChars: 2048,
  maxQueryMembers: 32,
  maxTokenChars: 4096,
  maxReportedErrors: 16,

  accessTokenMs: day,
  refreshTokenMs: 30 * day,
  clockToleranceMs: 5000,
  refreshGraceMs: minute,
  maxAccountSessions: 1000,
  maxServiceTokens: 500,
  serviceTokenMs: 90 * day,

  // OWASP, Password Storage: Argon2id with 19 MiB, two passes, one lane.
  passwordHashBytes: 19 * 1024 * KiB,
  passwordHashPasses: 2,
  maxHashes: 0,

  maxLoginFailures: 10,
  maxRegistrations: 20,

  maxAuditRows: 100_000,
  accountSweepMs: 60 * minute,
  accountKeepMs: 7 * day,
}

/** The bounds an operator may move by `--limit`; the rest are constants that only tests replace. */
type PublicAccountLimits = Pick<
  AccountLimits,
  'accessTokenMs' | 'refreshTokenMs' | 'serviceTokenMs' | 'maxLoginFailures' | 'maxRegistrations'
>

export const defaultPublicAccountLimits: Readonly<PublicAccountLimits> = Object.freeze({
  accessTokenMs: defaultAccountLimits.accessTokenMs,
  refreshTokenMs: defaultAccountLimits.refreshTokenMs,
  serviceTokenMs: defaultAccountLimits.serviceTokenMs,
  maxLoginFailures: defaultAccountLimits.maxLoginFailures,
  maxRegistrations: defaultAccountLimits.maxRegistrations,
})

/**
 * Throws `TypeError` for an unknown name and for a value that is not a whole number of its range.
 */
export function checkAccountLimits(overrides: Partial<PublicAccountLimits>): void {
  resolveBounds(defaultPublicAccountLimits, overrides, name => [
    // A shorter token would have expired before its first use.
    name.endsWith('Ms') ? 1000 : 0,
    Number.MAX_SAFE_INTEGER,
  ])
}

/** The defaults with the given bounds in their place. */
export function resolveAccountLimits(bounds: Partial<AccountLimits> = {}): AccountLimits {
  return { ...defaultAccountLimits, ...bounds }
}
