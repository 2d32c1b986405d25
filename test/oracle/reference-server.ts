import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node'
import {
  type CallToolResult,
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Caller, ToolParts, ToolResult } from '../../src/server/mcp/tools/tool.ts'
import { ids, producer } from '../conformance/producer.ts'
import { suiteTools } from '../conformance/tools.ts'
import { bothTypes, initialize } from './requests.ts'
import { listening } from '../helpers/listening.ts'

export interface ReferenceServer {
  readonly url: string
  close(): Promise<void>
}

/**
 * The official SDK, wired as its documentation says for a server of both kinds of revisions: sessions where a
 * request does not claim 2026-07-28, the handler per request where it does. Every answer is the SDK's own.
 */
export async function startReference(): Promise<ReferenceServer> {
  const stateless = createMcpHandler(createMcp, { legacy: 'reject' })
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const strangers = await openTransport(createMcp(), new Map())
  const headers = { 'Content-Type': 'application/json', Accept: bothTypes }
  const first = { method: 'POST', headers, body: initialize() }
  await strangers.handleRequest(new Request('http://localhost/mcp', first))

  /** A session that does not exist is refused by one that does: it compares the ids itself. */
  async function withSessions(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    const transport =
      id === null ? await openTransport(createMcp(), sessions) : (sessions.get(id) ?? strangers)
    return transport.handleRequest(request)
  }

  async function serve(request: Request): Promise<Response> {
    if (request.method !== 'POST') return withSessions(request)
    const isJson = isJsonContentType(request.headers.get('content-type'))
    return isJson && (await isLegacyRequest(request))
      ? withSessions(request)
      : stateless.fetch(request)
  }

  // The SDK's own adapter holds the headers of a stream back until its first event.
  const handler = getRequestListener(serve, { overrideGlobalObjects: false })
  const hostAllowed = localhostHostValidation()
  const originAllowed = localhostOriginValidation()
  const server = createServer((req, res) => {
    if (hostAllowed(req, res) && originAllowed(req, res)) void handler(req, res)
  })
  const port = await listening(server)
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      await stateless.close()
      for (const transport of [...sessions.values(), strangers]) await transport.close()
      await closed(server)
    },
  }
}

async function openTransport(
  mcp: McpServer,
  sessions: Map<string, WebStandardStreamableHTTPServerTransport>,
): Promise<WebStandardStreamableHTTPServerTransport> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: id => void sessions.set(id, transport),
    onsessionclosed: id => void sessions.delete(id),
  })
  await mcp.connect(transport)
  return transport
}

/** The same resources as the product's fixture: what its producer lists, reads and completes. */
function createMcp(): McpServer {
  const mcp = new McpServer(
    { name: 'reference', version: '1' },
    { capabilities: { resources: { subscribe: true, listChanged: true } } },
  )
  for (const { uri, name, mimeType = '' } of producer.list()) {
    mcp.registerResource(name, uri, { mimeType }, url => read(url.href))
  }
  for (const { uriTemplate, name, mimeType = '' } of producer.templates()) {
    const complete = { id: (value: string) => ids.filter(id => id.startsWith(value)) }
    const template = new ResourceTemplate(uriTemplate, { list: undefined, complete })
    mcp.registerResource(name, template, { mimeType }, url => read(url.href))
  }
  for (const { name, title, description, call } of suiteTools) {
    const settings = { title, description, inputSchema: z.object({}).strict() }
    mcp.registerTool(name, settings, async () =>
      toolResult(await call({}, caller, {} as ToolParts)),
    )
  }
  mcp.server.setRequestHandler('resources/subscribe', () => ({}))
  mcp.server.setRequestHandler('resources/unsubscribe', () => ({}))
  return mcp
}

const { signal } = new AbortController()
const caller: Caller = { signal, progress: null, principal: 'caller', mayAnswer: true }

function toolResult({ content, isError }: ToolResult): CallToolResult {
  const encoded = content.map(item =>
    item.type === 'image'
      ? { ...item, data: Buffer.from(item.data as Buffer).toString('base64') }
      : item,
  )
  return { isError, content: encoded } as CallToolResult
}

function read(uri: string): { contents: { uri: string; mimeType: string; text: string }[] } {
  try {
    return { contents: producer.read(uri) } as never
  } catch {
    throw new ResourceNotFoundError(uri)
  }
}

async function closed(server: Server): Promise<void> {
  const over = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await over
}
