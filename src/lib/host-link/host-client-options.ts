import type { Clock } from '../util/clock.ts'
import type { Logger } from '../util/logger.ts'
import type { Secret } from '../util/secret.ts'
import type { Timer } from '../util/timer.ts'
import type { HostApp } from './app-state.ts'
import type { ClientLimits } from './client-limits.ts'
import type { HostStatus } from './connection.ts'
import type { DocumentState } from './wire.ts'

export interface HostClientOptions {
  readonly app: HostApp
  /**
   * `host_url` of the server, `http://127.0.0.1:8765/host`, together with `token`. Without both,
   * a running server is looked for at each attempt: `findServe`.
   */
  readonly url?: string
  /** The host token; it is never printed. */
  readonly token?: string | Secret
  /** Where to look for a server. Default `SERVICE_REGISTRY_DIR`, else the usual folder. */
  readonly registryDir?: string
  /** The same for all connections of one run of the application. Default: a new UUID. */
  readonly instanceId?: string
  /** What is open in the application. Default null. */
  readonly document?: DocumentState | null
  /** Default: nothing is logged. */
  readonly log?: Logger
  /** Called at every change of `status`. What it throws is logged. */
  readonly onStatus?: (status: HostStatus) => void
  readonly limits?: Partial<ClientLimits>
}

/** What tests put in the place of the system. */
export interface HostClientServices {
  readonly timer?: Timer
  /** Milliseconds that only go forward. */
  readonly clock?: Clock
  readonly random?: () => number
  readonly env?: NodeJS.ProcessEnv
}

/** A registered producer. After `remove()` its members do nothing. */
export interface ProducerHandle {
  /** The list is another one: the server gets it, and tells its clients. */
  listChanged(): void
  /** The contents under this URI changed: its subscribers are told. */
  updated(uri: string): void
  remove(): void
}
