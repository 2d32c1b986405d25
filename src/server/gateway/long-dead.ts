import type { GatewayLimits } from '../../lib/config/gateway-limits.ts'

export type DeadLimits = Pick<GatewayLimits, 'maxDeadInstances' | 'deadInstanceMs'>

/** Which of the dead are listed no more: those dead for too long, and the first ones of too many. */
export function findLongDead<Dead extends { readonly deadSinceMs: number }>(
  dead: readonly Dead[],
  nowMs: number,
  limits: DeadLimits,
): Dead[] {
  const newestFirst = dead.toSorted((a, b) => b.deadSinceMs - a.deadSinceMs)
  return newestFirst.filter(
    ({ deadSinceMs }, at) =>
      at >= limits.maxDeadInstances || nowMs - deadSinceMs > limits.deadInstanceMs,
  )
}
