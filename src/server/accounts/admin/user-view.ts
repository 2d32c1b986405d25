import { toRfc3339 } from '../../../lib/clock.ts'
import type { AccountRow, LoginFailures } from '../account-store.ts'
import type { AccountLimits } from '../limits.ts'
import { judgeLogin } from '../login-limits.ts'

export interface UserView {
  readonly id: string
  readonly username: string
  readonly email: string
  readonly created_at: string
  readonly disabled_at: string | null
  /** `waiting`: some seconds until the next try; `locked`: no password until it is unlocked. */
  readonly login: 'open' | 'waiting' | 'locked'
  readonly failed_logins: number
}

export function userView(
  { id, username, email, createdAtMs, disabledAtMs }: AccountRow,
  failures: LoginFailures | null,
  { nowMs, limits }: { readonly nowMs: number; readonly limits: AccountLimits },
): UserView {
  const verdict = judgeLogin(failures, nowMs, limits)
  return {
    id,
    username,
    email,
    created_at: toRfc3339(createdAtMs),
    disabled_at: disabledAtMs === null ? null : toRfc3339(disabledAtMs),
    login: verdict.allowed ? 'open' : verdict.reason,
    failed_logins: failures?.consecutive ?? 0,
  }
}
