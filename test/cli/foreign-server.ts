import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import {
  createMcpHandler,
  McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'

/** A server of the official SDK with one text, one picture and a template. */
export interface ForeignServer {
  readonly url: URL
  /** Changes the text and notifies the subscribers of a stateless server. */
  write(text: string): void
  close(): Promise<void>
}

export const noteUri = 'note://today'
export const pictureBytes = Buffer.from([0x89, 0x50, 0, 255])

/** `sessions`: revisions up to 2025-11-25, answered as streams. `stateless`: 2026-07-28 alone. */
export async function startForeign(transport: 'sessions' | 'stateless'): Promise<ForeignServer> {
  let note = 'first\nsecond'

  function create(): McpServer {
    const mcp = new McpServer(
      { name: 'foreign', version: '1' },
      { capabilities: { resources: { subscribe: true, listChanged: true } } },
    )
    mcp.registerResource('note', noteUri, { mimeType: 'text/plain' }, url => ({
      contents: [{ uri: url.href, mimeType: 'text/plain', text: note }],
    }))
    mcp.registerResource('picture', 'file:///a/shot.png', { mimeType: 'image/png' }, url => ({
      contents: [{ uri: url.href, mimeType: 'image/png', blob: pictureBytes.toString('base64') }],
    }))
    const template = new ResourceTemplate('user://{id}', { list: undefined })
    mcp.registerResource('user', template, {}, url => {
      throw new ResourceNotFoundError(url.href)
    })
    mcp.server.setRequestHandler('resources/subscribe', () => ({}))
    return mcp
  }

  const modern = createMcpHandler(create, { legacy: 'reject' })
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>()

  async function inSession(request: Request): Promise<Response> {
    const known = transports.get(request.headers.get('mcp-session-id') ?? '')
    if (known !== undefined) return known.handleRequest(request)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: id => void transports.set(id, transport),
    })
    await create().connect(transport)
    return transport.handleRequest(request)
  }

  const serve = (request: Request) =>
    transport === 'sessions' ? inSession(request) : modern.fetch(request)
  const server = createServer(getRequestListener(serve, { overrideGlobalObjects: false }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    write(text) {
      note = text
      modern.notify.resourceUpdated(noteUri)
    },
    async close() {
      await modern.close()
      for (const transport of transports.values()) await transport.close()
      const over = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await over
    },
  }
}
