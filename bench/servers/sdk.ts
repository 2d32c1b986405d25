/** The official SDK 2: McpServer, one with its node transport for each session. */
import { randomUUID } from 'node:crypto'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import { McpServer } from '@modelcontextprotocol/server'
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
})
