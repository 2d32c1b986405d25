import { type Clock, repeat, type Timer } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { AccountStore, AuditRow } from './account-store.ts'
import { addressKey, type Call } from './call.ts'
import type { CountedWindows } from './login-limits.ts'
import type { AccountLimits } from './limits.ts'

/** What callers did to accounts, or tried to do. */
type AuditAction =
  | 'account.registered'
  | 'login.ok'
  | 'login.failed'
  | 'login.disabled'
  | 'logout'
  | 'logout.all'
  | 'password.changed'
  | 'password.change_failed'
  | 'password.reset'
  | 'password.reset_failed'
  | 'refresh.reused'
  | 'refresh.mismatch'
  | 'registration.refused'
  | 'request.refused'
  | 'token.created'
  | 'token.revoked'

export interface AuditTrail {
  record(
    action: AuditAction,
    call: Pick<Call, 'requestId' | 'address'>,
    accountId: string | null,
    details?: AuditRow['details'],
  ): Promise<void>
}

export function createAuditTrail(parts: {
  store: Pick<AccountStore, 'audit'>
  clock: Clock
  limits: Pick<AccountLimits, 'maxAuditRows'>
  log: Logger
}): AuditTrail {
  const { store, clock, limits, log } = parts
  return {
    async record(action, call, accountId, details = {}) {
      const row: AuditRow = {
        atMs: clock.now(),
        action,
        accountId,
        address: call.address,
        details: { request_id: call.requestId, ...details },
      }
      try {
        const untilMs = keepAuditUntil(action, row.atMs)
        await store.audit(row, { untilMs, maxRows: limits.maxAuditRows })
      } catch (error) {
        // What it tells of has happened: the answer must say so, and the log has the entry.
        log.error({ err: error, action, account_id: accountId }, 'an audit entry was lost')
      }
    },
  }
}

/**
 * Drops entries of one address beyond the limit of a window. For actions that unauthenticated
 * callers can cause; the access log has every request.
 */
export function limitByAddress(
  trail: AuditTrail,
  windows: CountedWindows,
  clock: Clock,
): AuditTrail {
  return {
    async record(action, call, accountId, details) {
      const key = addressKey(call.address)
      if (windows.waitMs(key, clock.now()) > 0) return
      windows.add(key, clock.now())
      await trail.record(action, call, accountId, details)
    },
  }
}

const dayMs = 24 * 60 * 60 * 1000

/** A quarter: long enough to look into a complaint about a login. */
const routineKeepMs = 90 * dayMs
/** More than a year, so that a yearly review finds every change of who may do what. */
const securityKeepMs = 400 * dayMs

/**
 * Frequent actions, or ones that unauthenticated callers can cause. All others change access or
 * suggest theft and are kept longest.
 */
const routine: ReadonlySet<string> = new Set<AuditAction>([
  'login.ok',
  'login.failed',
  'login.disabled',
  'logout',
  'password.change_failed',
  'password.reset_failed',
  'registration.refused',
  'request.refused',
])

/**
 * When an audit entry is old enough to go. Of an account with too many, those with the earliest end
 * go first.
 */
export function keepAuditUntil(action: string, atMs: number): number {
  return atMs + (routine.has(action) ? routineKeepMs : securityKeepMs)
}

/** Removes what is over, for as long as the server runs. Returns the stop. */
export function sweepRegularly(parts: {
  store: Pick<AccountStore, 'sweep'>
  clock: Clock
  timer: Timer
  log: Logger
  limits: Pick<AccountLimits, 'accountSweepMs' | 'accountKeepMs'>
}): () => void {
  const { store, clock, timer, log, limits } = parts
  return repeat(timer, limits.accountSweepMs, async () => {
    try {
      await store.sweep(clock.now() - limits.accountKeepMs)
    } catch (error) {
      log.warn({ err: error }, 'what is over could not be removed; tried again later')
    }
  })
}
