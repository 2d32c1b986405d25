import { monotonicClock, systemClock } from '../../src/lib/util/time.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { createHandlers } from '../../src/server/mcp/app.ts'
import { accessLogOn } from '../../src/server/http/access-log.ts'
import { listen } from '../../src/server/http/listen.ts'
import { createMcpEndpoint } from '../../src/server/mcp/endpoint.ts'
import { openPolicy } from '../../src/server/http/authentication.ts'
import { createRequestChecks } from '../../src/server/http/request-checks.ts'
import { McpHttpServer } from '../../src/server/mcp/mcp-http-server.ts'
import { defaultLimits } from '../../src/lib/config/limits.ts'
import type { Tool } from '../../src/server/mcp/tools/tool.ts'
import { ResourceRegistry } from '../../src/server/resources/registry.ts'
import { producer } from './producer.ts'
import { stub } from './stub.ts'
import { suiteTools } from './tools.ts'

/** The real server with the resources that the suite expects, not started yet. */
export function createFixture(more: readonly Tool[] = []): McpHttpServer {
  const tools = () => ({ tools: [...suiteTools, ...more], close: () => {} })
  const server = new McpHttpServer({ enableTools: true }, { tools })
  server.resources().addProducer(producer)
  return server
}

export interface StubbedFixture {
  url: string
  stop(): Promise<void>
}

/** The same parts with the stub beside the resources: no server of the package can be given one. */
export async function startStubbedFixture(): Promise<StubbedFixture> {
  const common = { limits: { ...defaultLimits }, log: silentLogger }
  const registry = new ResourceRegistry({
    ...common,
    clock: systemClock,
    enableArtefactResources: false,
  })
  registry.addProducer(producer)
  registry.freeze()
  const endpoint = createMcpEndpoint({
    ...common,
    registry,
    resourcesEnabled: true,
    instructions: 'For tests.',
    clock: monotonicClock,
    extraMethods: stub,
  })
  const where = { host: '127.0.0.1', port: 0 }
  const handlers = createHandlers({
    ...common,
    ...createRequestChecks(where),
    mcp: endpoint,
    auth: openPolicy,
    isReady: () => true,
    onRefused: () => {},
    accessLog: accessLogOn(silentLogger),
  })
  const listening = await listen(where, { ...common, ...handlers })
  return {
    url: `http://127.0.0.1:${listening.address.port}/mcp`,
    async stop() {
      await listening.stop(() => endpoint.close())
      registry.close()
    },
  }
}
