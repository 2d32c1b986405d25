import { noPresence, type OpenDocument, type Presence } from '../../lib/host-link/messages.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { systemClock, toRfc3339 } from '../../lib/util/time.ts'
import type { InstancePatch } from './instance-record.ts'

/** What is known of an application that only posts, in place of one that was connected before. */
export function postedPresence(dccType: string | undefined, document: OpenDocument): Presence {
  const app = dccType === undefined ? null : ({ dcc_type: dccType, mode: 'gui' } as const)
  return { ...noPresence, app, document, posts: true }
}

/** What is known of the application. Its coming and going is logged where it happens. */
export class ApplicationStatus {
  readonly #log: Logger
  #current: Presence | null = null
  #sinceMs: number | null = null

  constructor(log: Logger) {
    this.#log = log
  }

  /** Null before the first application. */
  get current(): Presence | null {
    return this.#current
  }

  /** When the application connected, or went; null before the first one, and for one that only posts. */
  get sinceMs(): number | null {
    return this.#sinceMs
  }

  /** Logs a new document. */
  set(presence: Presence): void {
    const { connected, document, posts } = presence
    const before = this.#current ?? noPresence
    const name = nameOf(document)
    if (name !== null && name !== nameOf(before.document)) {
      this.#log.info({ document: name }, 'document open in the application')
    }
    if (posts === true) this.#sinceMs = null
    else if (connected !== before.connected) this.#sinceMs = systemClock.now()
    this.#current = presence
  }
}

/** Its path, else its name. */
export function nameOf(document: OpenDocument | undefined): string | null {
  return document?.path ?? document?.name ?? null
}

/** What was given at the start; for `unknown` what the application says. */
export function dccTypeOf(given: string, app: Presence['app'] | undefined): string {
  return given === 'unknown' ? (app?.dcc_type ?? 'unknown') : given
}

/**
 * What the instance record shows of it. The kind and the name that were given at the start stay;
 * `unknown` becomes what the application says while it is there, so that one of any kind can follow.
 */
export function presencePatch(
  { connected, app: last, document, busy, posts }: Presence,
  given: { dccType: string; named: boolean; hostname: string },
  sinceMs: number | null = null,
): InstancePatch {
  const app = connected || posts === true ? last : null
  const dccType = dccTypeOf(given.dccType, app)
  const name = app?.display_name ?? dccType
  const { pid = null, version = null, mode = null } = (connected && app) || {}
  return {
    dcc_type: dccType,
    ...(!given.named && { display_name: `${name} on ${given.hostname}` }),
    host: {
      connected,
      app_pid: pid,
      version,
      mode,
      ...(sinceMs !== null && { since: toRfc3339(sinceMs) }),
    },
    scene: nameOf(document),
    status: connected && busy ? 'busy' : 'available',
  }
}
