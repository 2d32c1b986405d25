import type { Era } from '../load/eras.ts'
import type { TargetName } from '../targets.ts'

/** Those of the wanted servers that speak the era. */
export function speakersOf(era: Era, wanted: readonly TargetName[]): readonly TargetName[] {
  const sessionsOnly: readonly TargetName[] = ['plain-hono', 'sdk1']
  return era === 'session' ? wanted : wanted.filter(name => !sessionsOnly.includes(name))
}

export function rowName(name: string, era: Era): string {
  return era === 'session' ? name : `${name}-stateless`
}

export function titleEnd(era: Era): string {
  return era === 'session' ? '' : ', revision 2026-07-28'
}
