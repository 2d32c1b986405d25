/**
 * node:http written plainly: JSON.parse, the session looked up. Each result is serialised once, and
 * only the id is put before it.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { readFixture, sceneUri } from '../fixture.ts'
import { listenAndAnnounce } from './announce.ts'
import { initializeResult, type Message, resultOf, updateEvent } from './protocol.ts'

interface Session {
  readonly subscribed: Set<string>
  stream?: ServerResponse
}

const fixture = readFixture()
const prepared = new Map<string, string>()
const sessions = new Map<string, Session>()

listenAndAnnounce((request, response) => {
  if (request.method === 'GET') openStream(request, response)
  else void onPost(request, response)
})

async function onPost(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { id, method, params }: Message = JSON.parse(await text(request))
  if (request.url === '/host/v1/scene') {
    sceneChanged()
    return sendText(response, '{"ok":true}')
  }
  if (method === 'initialize') {
    const session = randomUUID()
    sessions.set(session, { subscribed: new Set() })
    response.setHeader('Mcp-Session-Id', session)
    return sendResult(response, id, method, () => initializeResult)
  }
  const session = find(request)
  if (session === undefined) return void response.writeHead(404).end()
  if (id === undefined) return void response.writeHead(202).end()
  const uri = params?.uri ?? ''
  if (method === 'resources/subscribe') session.subscribed.add(uri)
  sendResult(response, id, method + uri, () => resultOf(fixture, method, uri))
}

function openStream(request: IncomingMessage, response: ServerResponse): void {
  const session = find(request)
  if (session === undefined) return void response.writeHead(404).end()
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
  response.flushHeaders()
  session.stream = response
  response.on('close', () => delete session.stream)
}

function sceneChanged(): void {
  const event = updateEvent(sceneUri)
  for (const session of sessions.values()) {
    if (session.subscribed.has(sceneUri)) session.stream?.write(event)
  }
}

function find(request: IncomingMessage): Session | undefined {
  return sessions.get(String(request.headers['mcp-session-id']))
}

/** `key`: of the prepared result. */
function sendResult(
  response: ServerResponse,
  id: number | undefined,
  key: string,
  result: () => object,
): void {
  const kept = prepared.get(key) ?? JSON.stringify(result())
  prepared.set(key, kept)
  sendText(response, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${kept}}`)
}

function sendText(response: ServerResponse, body: string): void {
  response.setHeader('Content-Type', 'application/json')
  response.setHeader('Content-Length', Buffer.byteLength(body))
  response.end(body)
}
