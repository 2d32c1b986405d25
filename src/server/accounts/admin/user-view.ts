import { toRfc3339 } from '../../../lib/util/clock.ts'
import type { AccountRow, LoginFailures } from '../account-store.ts'
import { defaultAccountLimits } from '../limits.ts'
import { countFailures, loginDelayMs, strangers, strangersFactor } from '../login-limits.ts'

export interface UserView {
  readonly id: string
  readonly username: string
  readonly email: string
  readonly created_at: string
  readonly disabled_at: string | null
  /** `waiting`: some addresses, or all that never logged in to it, are refused at the moment. */
  readonly login: 'open' | 'waiting'
  readonly failed_logins: number
}

export function userView(
  { id, username, email, createdAtMs, disabledAtMs }: AccountRow,
  failures: readonly LoginFailures[],
  nowMs: number,
): UserView {
  const free = defaultAccountLimits.maxLoginFailures
  const isWaiting = failures.some(
    row => loginDelayMs(row, row.source === strangers ? free * strangersFactor : free, nowMs) > 0,
  )
  return {
    id,
    username,
    email,
    created_at: toRfc3339(createdAtMs),
    disabled_at: disabledAtMs === null ? null : toRfc3339(disabledAtMs),
    login: isWaiting ? 'waiting' : 'open',
    failed_logins: sumFailures(failures, nowMs),
  }
}

/** Failures that are not forgotten yet; those of strangers are counted twice, by source and together. */
export function sumFailures(failures: readonly LoginFailures[], nowMs: number): number {
  return failures
    .filter(({ source }) => source !== strangers)
    .reduce((sum, row) => sum + countFailures(row, nowMs), 0)
}
