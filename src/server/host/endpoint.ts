import type { Presence } from '../../lib/host-link/messages.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { Secret } from '../../lib/util/secret.ts'
import type { ArtefactStore } from '../artefacts/store.ts'
import type { Checkpoints } from '../checkpoints/checkpoints.ts'
import type { RefusedRequest } from '../http/refusal-log.ts'
import type { Notes } from '../notes/notes.ts'
import type { AuditLog } from '../resources/audit-log.ts'
import type { ClientsSource } from '../resources/clients.ts'
import type { ResourceRegistry } from '../resources/registry.ts'
import type { AppOrigin } from './app-origins.ts'
import { EventBuffers } from './event-buffers.ts'
import type { ServerLimits } from '../http/limits.ts'
import { HostLink } from './link/link.ts'
import { createHostRoutes } from './routes.ts'
import { Uploads } from './uploads.ts'

/** What the host link works with. */
export interface HostParts {
  readonly registry: ResourceRegistry
  readonly audit: Pick<AuditLog, 'record'>
  readonly checkpoints: Pick<Checkpoints, 'add' | 'remove'>
  /** The clients of this server. */
  readonly clients: Pick<ClientsSource, 'rows' | 'watch'>
  /** Null when notes are switched off. */
  readonly notes: Notes | null
  /** Null when artefacts are switched off. */
  readonly artefacts: Pick<ArtefactStore, 'put' | 'remove'> | null
  readonly token: Secret
  /** Web pages that may be the application. */
  readonly appOrigins: readonly AppOrigin[]
  readonly limits: ServerLimits
  readonly log: Logger
  /** Told of every change of what is known of the application. */
  onPresence(presence: Presence): void
  /** Told of every 401 and 403, for the audit log. */
  onRefused(refused: RefusedRequest): void
  /** A fresh link that logs a browser in to the page; absent or null: there is no page. */
  readonly pageLogin?: () => object | null
}

/** Everything below `/host`: the WebSocket and the plain posts, which share buffers and uploads. */
export function createHostEndpoint(parts: HostParts) {
  const { registry, limits, artefacts } = parts
  const buffers = new EventBuffers(registry)
  const uploads = new Uploads(artefacts, limits)
  const link = new HostLink({ ...parts, buffers, uploads })
  return {
    routes: createHostRoutes({ ...parts, buffers, uploads }),
    upgrade: link.createUpgrade(),
    close: () => link.close(),
    pictures: link.pictures,
  }
}
