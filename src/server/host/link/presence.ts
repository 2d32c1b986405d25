import type { InstancePatch } from '../instance-record.ts'
import type { AppFacts, DocumentFacts, HeartbeatFacts } from './message-parsers.ts'

/** What is known of the application: null members when nobody is connected. */
export interface Presence {
  readonly connected: boolean
  /** The last one that was connected; null before the first. */
  readonly app: AppFacts | null
  readonly document: DocumentFacts | null
  /** Its main thread is at work. */
  readonly busy: boolean
}

export const nobody: Presence = { connected: false, app: null, document: null, busy: false }

/** Is the main thread of the application away, as its last heartbeat says? */
export function isBusy(heartbeat: HeartbeatFacts | null, linkBusyMs: number): boolean {
  if (heartbeat === null) return false
  return heartbeat.busy !== undefined || heartbeat.mainIdleMs > linkBusyMs
}

/**
 * What the instance record shows of it. The kind and the name that were given at the start stay;
 * `unknown` becomes what the application says, for as long as the server runs.
 */
export function presencePatch(
  { connected, app, document, busy }: Presence,
  given: { readonly dccType: string; readonly named: boolean; readonly hostname: string },
): InstancePatch {
  const dccType = given.dccType === 'unknown' ? (app?.dccType ?? 'unknown') : given.dccType
  const name = app?.displayName ?? dccType
  return {
    dcc_type: dccType,
    ...(given.named ? {} : { display_name: `${name} on ${given.hostname}` }),
    host: {
      connected,
      app_pid: connected ? (app?.pid ?? null) : null,
      version: connected ? (app?.version ?? null) : null,
      mode: connected ? (app?.mode ?? null) : null,
    },
    scene: document?.path ?? document?.name ?? null,
    status: connected && busy ? 'busy' : 'available',
  }
}
