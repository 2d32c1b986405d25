import type { HostLimits } from '../limits.ts'
import type { Clock, Timer } from '../../../lib/util/time.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { ResourceRegistry } from '../../resources/registry.ts'
import type { EventBuffers } from '../event-buffers.ts'
import type { HostSink } from '../host-endpoint.ts'

/** What the host link works with, for every application. */
export interface LinkDeps {
  readonly sink: HostSink
  readonly buffers: EventBuffers
  /** Where the schemes of the application hang. */
  readonly registry: Pick<
    ResourceRegistry,
    'attach' | 'detach' | 'listChanged' | 'schemeState' | 'schemeUpdated' | 'notifyUpdated'
  >
  readonly limits: HostLimits
  readonly log: Logger
  /** The time of day. */
  readonly clock: Clock
  /** For durations: never set back. */
  readonly ticks: Clock
  readonly timer: Timer
}
