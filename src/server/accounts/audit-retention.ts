import type { AuditAction } from './audit-trail.ts'

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

/** When an audit entry is old enough to go. Of an account with too many, those with the earliest end go first. */
export function keepAuditUntil(action: string, atMs: number): number {
  return atMs + (routine.has(action) ? routineKeepMs : securityKeepMs)
}
