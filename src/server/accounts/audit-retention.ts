import type { AuditAction } from './audit-trail.ts'

const dayMs = 24 * 60 * 60 * 1000

/** A quarter: long enough to look into a complaint about a login. */
const routineKeepMs = 90 * dayMs
/** More than a year, so that a yearly review finds every change of who may do what. */
const securityKeepMs = 400 * dayMs

/**
 * What happens often, or what strangers can cause at will. Everything else changes who may do what,
 * or is a sign of theft, and is kept longest.
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
