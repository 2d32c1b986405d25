import {
  type AppIdentity,
  noPictures,
  type OpenDocument,
  type PictureOffer,
} from '../../lib/host-link/messages.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { systemClock, toRfc3339 } from '../../lib/util/time.ts'
import type { InstancePatch } from './instance-record.ts'

/** What is known of the application, or of the one that was connected last. */
export interface Presence {
  readonly connected: boolean
  /** Null before the first one. */
  readonly app: (Pick<AppIdentity, 'dcc_type' | 'mode'> & Partial<AppIdentity>) | null
  readonly document: OpenDocument
  /** Its main thread is at work. */
  readonly busy: boolean
  /** What pictures of itself it offers while it is connected. */
  readonly pictures: PictureOffer
  /** It only posts: nothing tells when it goes. */
  readonly posts?: boolean
  /** It has left and taken its scene with it. */
  readonly cleared?: boolean
}

const noPresence: Presence = {
  connected: false,
  app: null,
  document: null,
  busy: false,
  pictures: noPictures,
}

/** What is known of an application that only posts, in place of one that was connected before. */
export function postedPresence(dccType: string | undefined, document: OpenDocument): Presence {
  const app = dccType === undefined ? null : ({ dcc_type: dccType, mode: 'gui' } as const)
  return { ...noPresence, app, document, posts: true }
}

/**
 * Keeps what is known of the application, and logs a new document; its coming and going is logged
 * where it happens.
 */
export class ApplicationStatus {
  readonly #log: Logger
  #presence = noPresence
  #sinceMs: number | null = null
  #onChange: (presence: Presence, sinceMs: number | null) => void = () => {}

  constructor(log: Logger) {
    this.#log = log
  }

  /** Null before the first application. */
  get current(): Presence | null {
    return this.#presence === noPresence ? null : this.#presence
  }

  set(presence: Presence): void {
    const before = this.#presence
    const document = nameOf(presence.document)
    if (document !== null && document !== nameOf(before.document)) {
      this.#log.info({ document }, 'document open in the application')
    }
    if (presence.posts === true) this.#sinceMs = null
    else if (presence.connected !== before.connected) this.#sinceMs = systemClock.now()
    this.#presence = presence
    this.#onChange(presence, this.#sinceMs)
  }

  /**
   * Sets the listener, which is told at once of what is known already. `sinceMs`: when the
   * application connected, or went; null before the first one.
   */
  onChange(listener: (presence: Presence, sinceMs: number | null) => void): void {
    this.#onChange = listener
    if (this.#presence !== noPresence) listener(this.#presence, this.#sinceMs)
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
 * `unknown` becomes what the application says, for as long as the server runs.
 */
export function presencePatch(
  { connected, app, document, busy }: Presence,
  given: { dccType: string; named: boolean; hostname: string },
  sinceMs: number | null = null,
): InstancePatch {
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
