import type { Era } from '../load/eras.ts'
import type { TargetName } from '../targets.ts'

/**
 * Those of the wanted servers that speak the era. `withPrepared`: for rows that are about what an
 * answer costs beside its bytes.
 */
export function speakersOf(
  era: Era,
  wanted: readonly TargetName[],
  { withPrepared = false } = {},
): readonly TargetName[] {
  const sessionsOnly: readonly TargetName[] = ['plain-hono', 'sdk1']
  const others: readonly TargetName[] = [
    ...(era === 'session' ? [] : sessionsOnly),
    ...(withPrepared ? [] : (['bare-prepared'] as const)),
  ]
  return wanted.filter(name => !others.includes(name))
}

export function rowName(name: string, era: Era): string {
  return era === 'session' ? name : `${name}-stateless`
}

export function titleEnd(era: Era): string {
  return era === 'session' ? '' : ', revision 2026-07-28'
}
