import { McpHttpServer } from '../../src/server/mcp-http-server.ts'
import { producer } from './producer.ts'
import { suiteTools } from './tools.ts'

/** The real server with the resources that the suite expects, not started yet. */
export function createFixture(): McpHttpServer {
  const server = new McpHttpServer({ enableTools: true }, { tools: suiteTools })
  server.resources().addProducer(producer)
  return server
}
