/** The official SDK 2: an McpServer with its node transport for each session. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import { McpServer } from '@modelcontextprotocol/server'
import { sceneUri } from '../fixture.ts'
import { listen, resources, resultOf, sendJson } from './protocol.ts'

interface Session {
  readonly server: McpServer
  readonly transport: NodeStreamableHTTPServerTransport
  readonly subscribed: Set<string>
}

const sessions = new Map<string, Session>()

listen((request, response) => {
  if (request.url === '/host/v1/scene') onScene(request, response)
  else void onMcp(request, response)
})

async function onMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = request.headers['mcp-session-id']
  const session = id === undefined ? await openSession() : sessions.get(String(id))
  if (session === undefined) response.writeHead(404).end()
  else await session.transport.handleRequest(request, response)
}

async function openSession(): Promise<Session> {
  const subscribed = new Set<string>()
  const server = new McpServer(
    { name: 'bench', version: '1' },
    { capabilities: { resources: { subscribe: true, listChanged: true } } },
  )
  for (const { uri, name, ...rest } of resources) {
    server.registerResource(name, uri, rest, () => resultOf('resources/read', uri))
  }
  server.server.setRequestHandler('resources/subscribe', request => {
    subscribed.add(request.params.uri)
    return {}
  })
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: id => void sessions.set(id, session),
  })
  const session = { server, transport, subscribed }
  await server.connect(transport)
  return session
}

function onScene(request: IncomingMessage, response: ServerResponse): void {
  request.resume().on('end', () => {
    for (const { subscribed, server } of sessions.values()) {
      if (!subscribed.has(sceneUri)) continue
      server.server.sendResourceUpdated({ uri: sceneUri }).catch(() => {})
    }
    sendJson(response, '{"ok":true}')
  })
}
