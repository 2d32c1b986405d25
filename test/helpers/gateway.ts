import { monotonicClock, systemClock } from '../../src/lib/util/time.ts'
import { bundledCatalog } from '../../src/lib/util/adapter-files.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { createHandlers } from '../../src/server/mcp/app.ts'
import { CatalogFile } from '../../src/server/gateway/catalog/catalog-file.ts'
import { EventRing } from '../../src/server/gateway/event-ring.ts'
import { GatewayResources } from '../../src/server/gateway/gateway-resources.ts'
import { type GatewayLimits, resolveGatewayLimits } from '../../src/lib/config/gateway-limits.ts'
import { accessLogOn } from '../../src/server/http/access-log.ts'
import { listen } from '../../src/server/http/listen.ts'
import { openPolicy } from '../../src/server/http/authentication.ts'
import { createRequestChecks } from '../../src/server/http/request-checks.ts'
import { createMcpEndpoint, type McpEndpoint } from '../../src/server/mcp/endpoint.ts'
import { type Limits, resolveLimits } from '../../src/lib/config/limits.ts'
import type { ServedResources } from '../../src/server/resources/schemes.ts'
import { MemoryDirectory } from './memory-directory.ts'

export interface GatewayTestOptions {
  readonly limits?: Partial<Limits & GatewayLimits>
  /** Default: the bundled one. */
  readonly catalogPath?: string
}

export interface TestGateway {
  readonly url: string
  readonly directory: MemoryDirectory
  readonly ring: EventRing
  readonly resources: ServedResources & { close(): void }
  readonly endpoint: McpEndpoint
  stop(): Promise<void>
}

/** The real endpoint on a free port, over the resources of a gateway. */
export async function startGatewayServer(options: GatewayTestOptions = {}): Promise<TestGateway> {
  const host = '127.0.0.1'
  const limits = { ...resolveLimits(), ...resolveGatewayLimits(), ...options.limits }
  const log = silentLogger
  const directory = new MemoryDirectory()
  const ring = new EventRing(limits)
  const catalog = await CatalogFile.open({
    path: options.catalogPath ?? bundledCatalog,
    source: options.catalogPath === undefined ? 'bundled' : 'file',
    limits,
    log,
  })
  let port = 0
  const resources = new GatewayResources({
    directory,
    ring,
    catalog,
    limits,
    self: () => ({
      host,
      port,
      mcpUrl: `http://${host}:${port}/mcp`,
      startedMs: systemClock.now(),
    }),
    activity: () => endpoint.activity(),
    probeOf: () => null,
    whyNotProbed: () => null,
  })
  const endpoint = createMcpEndpoint({
    registry: resources,
    resourcesEnabled: true,
    instructions: () => 'Read gateway://instances first.',
    limits,
    clock: monotonicClock,
    log,
  })
  const handlers = createHandlers({
    ...createRequestChecks({ host }),
    mcp: endpoint,
    auth: openPolicy,
    isReady: () => true,
    onRefused: () => {},
    limits,
    log,
    accessLog: accessLogOn(log),
  })
  const listening = await listen({ host, port: 0 }, { ...handlers, limits, log })
  port = listening.address.port
  return {
    url: `http://${host}:${port}/mcp`,
    directory,
    ring,
    resources,
    endpoint,
    async stop() {
      await listening.stop(() => endpoint.close())
      resources.close()
    },
  }
}
