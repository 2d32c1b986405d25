/**
 * The official SDK 2: McpServer, one with its node transport for each session; for the stateless transport
 * its handler, which makes a server for each request.
 */
import { randomUUID } from 'node:crypto'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { readFixture } from '../fixture.ts'
import { resultOf } from './protocol.ts'
import { serveSessions, type SdkSession, type SdkStateless } from './sdk-sessions.ts'

type ReadResult = { contents: { uri: string; mimeType: string; text: string }[] }

const fixture = readFixture()
const maxStreams = 20_000
const stateless = createMcpHandler(() => createResources(), {
  legacy: 'reject',
  maxSubscriptions: maxStreams,
})

serveSessions(
  async opened => {
    const subscribed = new Set<string>()
    const server = createResources()
    server.server.setRequestHandler('resources/subscribe', request => {
      subscribed.add(request.params.uri)
      return {}
    })
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: id => opened(id, session),
    })
    const session: SdkSession = {
      subscribed,
      handle: (request, response) => transport.handleRequest(request, response),
      sendUpdated: uri => server.server.sendResourceUpdated({ uri }),
    }
    await server.connect(transport)
    return session
  },
  {
    handle: toNodeHandler(stateless) as SdkStateless['handle'],
    sendUpdated: uri => stateless.notify.resourceUpdated(uri),
  },
)

function createResources(): McpServer {
  const server = new McpServer(
    { name: 'bench', version: '1' },
    { capabilities: { resources: { subscribe: true, listChanged: true } } },
  )
  for (const { uri, name, ...rest } of fixture.descriptors) {
    const read = () => resultOf(fixture, 'resources/read', uri) as ReadResult
    server.registerResource(name, uri, rest, read)
  }
  return server
}
