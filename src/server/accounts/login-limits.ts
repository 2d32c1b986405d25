import type { LoginFailures } from './account-store.ts'
import type { AccountLimits } from './limits.ts'

export type LoginVerdict =
  | { readonly allowed: true }
  | {
      readonly allowed: false
      readonly retryAfterMs: number
      /** `locked`: waiting does not help, a reset or the owner of the machine does. */
      readonly reason: 'waiting' | 'locked'
    }

type LoginLimits = Pick<
  AccountLimits,
  'maxLoginFailures' | 'loginDelayMs' | 'maxLoginDelayMs' | 'maxConsecutiveFailures'
>

const allowed: LoginVerdict = { allowed: true }

/**
 * May a password be tried for this account now? The first failures are free; then each one makes
 * the wait before the next twice as long. What is counted are failures since the last success, so
 * whoever knows the password and makes no mistakes never meets this.
 */
export function judgeLogin(
  failures: LoginFailures | null,
  nowMs: number,
  limits: LoginLimits,
): LoginVerdict {
  if (failures === null || failures.consecutive < limits.maxLoginFailures) return allowed
  if (failures.consecutive >= limits.maxConsecutiveFailures) {
    return { allowed: false, retryAfterMs: limits.maxLoginDelayMs, reason: 'locked' }
  }
  // Of a clock that was set back: how long ago it was cannot be known, and to wait until then is no bound.
  if (nowMs < failures.lastMs) return allowed
  const doublings = Math.min(failures.consecutive - limits.maxLoginFailures, 40)
  const delayMs = Math.min(limits.maxLoginDelayMs, limits.loginDelayMs * 2 ** doublings)
  const retryAfterMs = failures.lastMs + delayMs - nowMs
  return retryAfterMs <= 0 ? allowed : { allowed: false, retryAfterMs, reason: 'waiting' }
}
