/** The official SDK 1: McpServer, one with its Streamable HTTP transport for each session. */
import { randomUUID } from 'node:crypto'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { SubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { readFixture } from '../fixture.ts'
import { resultOf } from './protocol.ts'
import { serveSessions, type SdkSession } from './sdk-sessions.ts'

type ReadResult = { contents: { uri: string; mimeType: string; text: string }[] }

const fixture = readFixture()

serveSessions(async opened => {
  const subscribed = new Set<string>()
  const server = new McpServer(
    { name: 'bench', version: '1' },
    { capabilities: { resources: { subscribe: true, listChanged: true } } },
  )
  for (const { uri, name, ...rest } of fixture.descriptors) {
    const read = () => resultOf(fixture, 'resources/read', uri) as ReadResult
    server.registerResource(name, uri, rest, read)
  }
  server.server.setRequestHandler(SubscribeRequestSchema, request => {
    subscribed.add(request.params.uri)
    return {}
  })
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: id => opened(id, session),
  })
  const session: SdkSession = {
    subscribed,
    handle: (request, response) => transport.handleRequest(request, response),
    sendUpdated: uri => server.server.sendResourceUpdated({ uri }),
  }
  await server.connect(transport as Transport)
  return session
})
