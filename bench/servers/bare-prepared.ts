/**
 * node:http written plainly: JSON.parse, the session looked up. Each result is serialised once, and
 * only the id is put before it.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { sceneUri } from '../fixture.ts'
import {
  initializeResult,
  listen,
  type Message,
  openEventStream,
  resultOf,
  sendJson,
  type Session,
  updateEvent,
} from './protocol.ts'

/** By method and URI. */
const prepared = new Map<string, string>()
const sessions = new Map<string, Session<ServerResponse>>()

listen((request, response) => {
  if (request.url === '/host/v1/scene') void onScene(request, response)
  else if (request.method === 'GET') openStream(request, response)
  else void onPost(request, response)
})

async function onScene(request: IncomingMessage, response: ServerResponse): Promise<void> {
  JSON.parse(await text(request))
  for (const { subscribed, stream } of sessions.values()) {
    if (subscribed.has(sceneUri)) stream?.write(updateEvent)
  }
  sendJson(response, '{"ok":true}')
}

async function onPost(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { id, method, params }: Message = JSON.parse(await text(request))
  if (method === 'initialize') {
    const session = randomUUID()
    sessions.set(session, { subscribed: new Set() })
    response.setHeader('Mcp-Session-Id', session)
    return sendResult(response, id, method, () => initializeResult)
  }
  const session = sessionOf(request)
  if (session === undefined) return void response.writeHead(404).end()
  if (id === undefined) return void response.writeHead(202).end()
  const uri = params?.uri ?? ''
  if (method === 'resources/subscribe') session.subscribed.add(uri)
  sendResult(response, id, method + uri, () => resultOf(method, uri))
}

function openStream(request: IncomingMessage, response: ServerResponse): void {
  const session = sessionOf(request)
  if (session === undefined) return void response.writeHead(404).end()
  openEventStream(response)
  session.stream = response
  response.on('close', () => delete session.stream)
}

function sessionOf(request: IncomingMessage): Session<ServerResponse> | undefined {
  return sessions.get(String(request.headers['mcp-session-id']))
}

function sendResult(
  response: ServerResponse,
  id: unknown,
  key: string,
  result: () => object,
): void {
  const kept = prepared.get(key) ?? JSON.stringify(result())
  prepared.set(key, kept)
  sendJson(response, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${kept}}`)
}
