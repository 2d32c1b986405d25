import { availableParallelism } from 'node:os'
import type { Clock } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { RegistrationMode } from '../../lib/accounts/protocol.ts'
import { createAccessTokens, type KeySource } from './access-tokens.ts'
import type { AccountStore } from './account-store.ts'
import { type AuditTrail, createAuditTrail, limitByAddress } from './audit-trail.ts'
import { type Authenticator, createAuthenticator } from './authenticate.ts'
import { type CountedWindows, createCountedWindows } from './login-limits.ts'
import { createCredentials, type Credentials } from './credentials.ts'
import { createHashQueue, hashConcurrency, maxWaitingHashes } from './hash-queue.ts'
import type { AccountLimits } from './limits.ts'
import { createPasswords, type Passwords } from './password-hashing.ts'
import { createRefresher, type Refresher } from './refresh.ts'
import { createRefreshTokens } from './refresh-tokens.ts'
import { createSessionTokens, type SessionTokens } from './session-tokens.ts'

interface AccountParts {
  readonly store: AccountStore
  readonly keys: KeySource
  /** `iss` of every token, and its only audience. */
  readonly issuer: string
  readonly registration: RegistrationMode
  /**
   * Only this machine reaches the server: common passwords get a warning in the log instead of a
   * refusal, and registrations are not counted.
   */
  readonly local: boolean
  readonly limits: AccountLimits
  readonly clock: Clock
  readonly log: Logger
  /** What hashes; replaced by tests that count. */
  readonly passwords?: Passwords
}

/** What the routes are made of. */
export interface AccountServices extends Omit<AccountParts, 'passwords'> {
  readonly authenticator: Authenticator
  readonly credentials: Credentials
  readonly sessions: SessionTokens
  readonly refresher: Refresher
  readonly audit: AuditTrail
  /** The audit of refusals that callers without credentials cause. */
  readonly refusals: AuditTrail
  readonly registrations: CountedWindows
}

const hourMs = 60 * 60_000
/** Refusals of one address in the audit: one address alone needs days to push out older entries. */
const auditedRefusals = { windowMs: 5 * 60_000, most: 30 }

export function createAccountServices(parts: AccountParts): AccountServices {
  const { store, keys, issuer, limits, clock, log } = parts
  const accessTokens = createAccessTokens({ keys, issuer, clock, limits })
  const refreshTokens = createRefreshTokens(keys)
  const authenticator = createAuthenticator({ store, accessTokens, clock })
  const sessions = createSessionTokens({ store, accessTokens, refreshTokens, clock, limits })
  const audit = createAuditTrail({ store, clock, limits, log })
  const queue = createHashQueue({
    concurrency: hashConcurrency(limits.maxHashes, availableParallelism()),
    maxWaiting: maxWaitingHashes,
  })
  const passwords = parts.passwords ?? createPasswords(limits)
  return {
    ...parts,
    authenticator,
    sessions,
    audit,
    refusals: limitByAddress(audit, createCountedWindows(auditedRefusals), clock),
    credentials: createCredentials({ store, keys, passwords, queue, clock, limits }),
    refresher: createRefresher({
      store,
      accessTokens,
      refreshTokens,
      sessions,
      authenticator,
      audit,
      clock,
      limits,
    }),
    registrations: createCountedWindows({ windowMs: hourMs, most: limits.maxRegistrations }),
  }
}
