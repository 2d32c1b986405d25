import { McpHttpServer } from '../../src/server/mcp/mcp-http-server.ts'
import type { Tool } from '../../src/server/mcp/tools/tool.ts'
import { producer } from './producer.ts'
import { suiteTools } from './tools.ts'

/** The real server with the resources that the suite expects, not started yet. */
export function createFixture(more: readonly Tool[] = []): McpHttpServer {
  const tools = () => [...suiteTools, ...more]
  const server = new McpHttpServer({ enableTools: true }, { tools })
  server.resources().addProducer(producer)
  return server
}
