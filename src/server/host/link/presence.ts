import { systemClock, toRfc3339 } from '../../../lib/util/time.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { InstancePatch } from '../instance-record.ts'
import type { DocumentFacts, PostedApp } from '../app-facts.ts'
import type { AppFacts } from './parse-hello.ts'
import { type PictureOfferFacts, noPictures } from './pictures.ts'

/** What is known of the application, or of the one that was connected last. */
export interface Presence {
  readonly connected: boolean
  /** Null before the first one. */
  readonly app: AppFacts | null
  readonly document: DocumentFacts | null
  /** Its main thread is at work. */
  readonly busy: boolean
  /** What pictures of itself it offers while it is connected. */
  readonly pictures: PictureOfferFacts
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
export function postedPresence({ dccType, document }: PostedApp): Presence {
  const app = dccType === undefined ? null : ({ dccType, mode: 'gui' } as const)
  return { ...noPresence, app, document, posts: true }
}

/**
 * Passes on what is known of the application, and logs a new document or mode; its coming and going
 * is logged where it happens. `follow` may be called after the application connected.
 */
export class PresenceNews {
  readonly #log: Logger
  #presence = noPresence
  #sinceMs: number | null = null
  #follower: (presence: Presence, sinceMs: number | null) => void = () => {}

  constructor(log: Logger) {
    this.#log = log
  }

  /** Null before the first application. */
  get current(): Presence | null {
    return this.#presence === noPresence ? null : this.#presence
  }

  next(presence: Presence): void {
    const document = documentOf(presence)
    if (document !== null && document !== documentOf(this.#presence)) {
      this.#log.info({ document }, 'document open in the application')
    }
    const { mode } = presence.app ?? {}
    const wasLinked = this.#presence.connected && presence.connected
    if (wasLinked && mode !== this.#presence.app?.mode) {
      this.#log.info({ mode }, 'application runs in another mode')
    }
    if (presence.posts === true) this.#sinceMs = null
    else if (presence.connected !== this.#presence.connected) this.#sinceMs = systemClock.now()
    this.#presence = presence
    this.#follower(presence, this.#sinceMs)
  }

  /** `sinceMs`: when the application connected, or went; null before the first one. */
  follow(follower: (presence: Presence, sinceMs: number | null) => void): void {
    this.#follower = follower
    if (this.#presence !== noPresence) follower(this.#presence, this.#sinceMs)
  }
}

/** The path of the open document, else its name. */
export function documentOf(presence: Pick<Presence, 'document'> | null): string | null {
  return presence?.document?.path ?? presence?.document?.name ?? null
}

/** What was given at the start; for `unknown` what the application says. */
export function dccTypeOf(given: string, app: Presence['app'] | undefined): string {
  return given === 'unknown' ? (app?.dccType ?? 'unknown') : given
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
  const name = app?.displayName ?? dccType
  return {
    dcc_type: dccType,
    ...(given.named ? {} : { display_name: `${name} on ${given.hostname}` }),
    host: {
      connected,
      app_pid: connected ? (app?.pid ?? null) : null,
      version: connected ? (app?.version ?? null) : null,
      mode: connected ? (app?.mode ?? null) : null,
      ...(sinceMs === null ? {} : { since: toRfc3339(sinceMs) }),
    },
    scene: documentOf({ document }),
    status: connected && busy ? 'busy' : 'available',
  }
}
