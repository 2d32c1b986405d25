import { once } from 'node:events'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import {
  createMcpHandler,
  McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { listen } from '../helpers/free-port.ts'

/** A server of the official SDK with one text, one picture and a template. */
export interface ForeignServer {
  readonly url: URL
  /** Changes the text and notifies the subscribers of a stateless server. */
  write(text: string): void
  close(): Promise<void>
}

export const noteUri = 'note://today'
export const pictureBytes = Buffer.from([0x89, 0x50, 0, 255])

/** Serves 2026-07-28 alone. */
export async function startForeign(): Promise<ForeignServer> {
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
    return mcp
  }

  const modern = createMcpHandler(create, { legacy: 'reject' })
  const serve = (request: Request) => modern.fetch(request)
  const server = createServer(getRequestListener(serve, { overrideGlobalObjects: false }))
  const port = await listen(server)
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    write(text) {
      note = text
      modern.notify.resourceUpdated(noteUri)
    },
    async close() {
      await modern.close()
      const over = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await over
    },
  }
}
