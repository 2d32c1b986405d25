import type { Clock } from '../../lib/util/time.ts'
import { isWildcard } from '../../lib/util/address.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { AppParts } from './app.ts'
import type { AccessLog, RefusedRequest } from '../http/access-log.ts'
import { type AuthPolicy, openPolicy } from '../http/authentication.ts'
import { createCors } from '../http/cors.ts'
import { createGuard } from '../http/guards.ts'
import { createPeerOf } from '../http/trusted-proxies.ts'
import { createMcpEndpoint, type McpEndpoint } from './endpoint.ts'
import type { Limits } from '../../lib/config/limits.ts'
import type { ServedResources } from '../resources/schemes.ts'
import { version } from '../../lib/util/version.ts'

/** Where a server is reached, and by which names. */
interface Reachable {
  /** The address it is bound to. */
  readonly host: string
  /** The address clients use, when it is another. */
  readonly publicUrl?: string | undefined
  /** Further names accepted in the Host header. */
  readonly allowedHosts?: readonly string[] | undefined
  /** Origins accepted and given CORS headers. */
  readonly allowedOrigins?: readonly string[] | undefined
  /** Proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: readonly string[] | undefined
}

/** `/mcp` over whatever has resources: an application's, or those of a gateway. */
export function createServerEndpoint(parts: {
  readonly registry: ServedResources
  readonly resourcesEnabled: boolean
  /** How a model finds its way about what is served. */
  readonly instructions: () => string
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Logger
}): McpEndpoint {
  const { instructions } = parts
  const identity = {
    ...{ name: 'service-cli', title: 'service-cli', version },
    get instructions() {
      return instructions()
    },
  }
  return createMcpEndpoint({ ...parts, identity })
}

interface AssemblyParts {
  readonly mcp: AppParts['mcp']
  readonly reachable: Reachable
  /** Default: everyone who reaches the server may read. */
  readonly auth: AuthPolicy | undefined
  readonly onRefused: (refused: RefusedRequest) => void
  readonly limits: Limits
  readonly log: Logger
  readonly accessLog: AccessLog
}

/** What every MCP server of the program checks in the same way: names, pages, keys. */
export function assembleApp(parts: AssemblyParts): Omit<AppParts, 'isReady'> {
  const { reachable, auth = openPolicy, ...rest } = parts
  const { host, publicUrl, allowedHosts = [], allowedOrigins = [], trustedProxies = [] } = reachable
  const publicHost = publicUrl === undefined ? [] : [new URL(publicUrl).host]
  return {
    ...rest,
    auth,
    guard: createGuard({
      own: [host, ...publicHost],
      hosts: allowedHosts,
      origins: allowedOrigins,
    }),
    cors: createCors(allowedOrigins),
    boundToAll: isWildcard(host),
    peerOf: createPeerOf(trustedProxies),
  }
}
