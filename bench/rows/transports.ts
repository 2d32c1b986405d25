import type { Transport } from '../load/transports.ts'
import type { TargetName } from '../targets.ts'

/**
 * Those of the wanted servers that speak the transport. `withPrepared`: for rows that are about what an
 * answer costs beside its bytes.
 */
export function speakersOf(
  transport: Transport,
  wanted: readonly TargetName[],
  { withPrepared = false } = {},
): readonly TargetName[] {
  const sessionsOnly: readonly TargetName[] = ['plain-hono', 'sdk1']
  const others: readonly TargetName[] = [
    ...(transport === 'session' ? [] : sessionsOnly),
    ...(withPrepared ? [] : (['bare-prepared'] as const)),
  ]
  return wanted.filter(name => !others.includes(name))
}

export function rowName(name: string, transport: Transport): string {
  return transport === 'session' ? name : `${name}-stateless`
}

export function titleEnd(transport: Transport): string {
  return transport === 'session' ? '' : ', revision 2026-07-28'
}
