import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Limits } from '../options.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import { type EndpointActivity, PendingCalls } from './activity.ts'
import { rpcCodes } from './errors.ts'
import { errorMessage } from './json-text.ts'
import { KeepAlive } from './keep-alive.ts'
import { SessionEndpoint } from './legacy/endpoint.ts'
import type { ServerIdentity } from './legacy/initialize.ts'
import { createMethods } from './legacy/methods.ts'
import { Sessions } from './legacy/sessions.ts'
import { createResourceMethods } from './resource-methods.ts'
import type { RequestNotes } from './request-notes.ts'
import { sendRefusal } from './send.ts'
import { SubscriptionHub } from './subscriptions.ts'

export interface McpEndpoint {
  handle(req: IncomingMessage, res: ServerResponse, notes: RequestNotes): void | Promise<void>
  activity(): EndpointActivity
  /** Ends sessions and streams; the server stops. */
  close(): void
}

export interface McpEndpointParts {
  registry: ServedResources
  resourcesEnabled: boolean
  identity: ServerIdentity
  limits: Limits
  clock: Clock
  log: Logger
}

/** `/mcp`: wires the eras to the registry and chooses by HTTP method. */
export function createMcpEndpoint(parts: McpEndpointParts): McpEndpoint {
  const { registry, resourcesEnabled, limits, clock } = parts
  const hub = new SubscriptionHub(limits)
  const keepAlive = new KeepAlive(limits)
  const sessions = new Sessions({ hub, clock, limits })
  const pending = new PendingCalls()
  const resources = pending.of(createResourceMethods(registry))
  const methods = createMethods(resourcesEnabled ? { registry, hub, resources } : null)
  const endpoint = new SessionEndpoint({ ...parts, sessions, methods, keepAlive })
  const detach = registry.listen(hub)
  return {
    handle(req, res, notes) {
      switch (req.method) {
        case 'POST':
          return endpoint.post(req, res, notes)
        case 'GET':
          return endpoint.get(req, res, notes)
        case 'DELETE':
          return endpoint.delete(req, res, notes)
        default: {
          const error = { code: rpcCodes.refused, message: 'method not allowed' }
          const allow = { Allow: 'GET, POST, DELETE' }
          return sendRefusal(res, 405, errorMessage(null, error), allow, limits.refusedBodyDrainMs)
        }
      }
    },
    activity: () => ({
      pendingCalls: pending.count,
      sessions: sessions.size,
      streams: keepAlive.size,
      subscriptions: hub.size.subscriptions,
      subscribers: hub.size.subscribers,
    }),
    close() {
      detach()
      keepAlive.stop()
      sessions.close()
    },
  }
}
