/**
 * node:http written plainly: JSON.parse, the session looked up, JSON.stringify of the answer. With
 * the argument "prepared" each result is serialised once, and only the id is put before it.
 */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse } from 'node:http'
import { readFixture, sceneUri } from '../fixture.ts'
import { listenAndAnnounce } from './announce.ts'
import {
  acknowledgementEvent,
  initializeResult,
  isStateless,
  resultOf,
  statelessOpening,
  updateEvent,
  type Message,
} from './protocol.ts'

interface Session {
  readonly subscribed: Set<string>
  stream?: ServerResponse
}

const fixture = readFixture()
const isPrepared = process.argv[2] === 'prepared'
const prepared = new Map<string, string>()
const sessions = new Map<string, Session>()
const listening = new Map<ServerResponse, number>()

listenAndAnnounce((request, response) => {
  if (request.method === 'GET') openStream(request, response)
  else if (request.method === 'DELETE') response.writeHead(200).end()
  else void onPost(request, response)
})

async function onPost(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const message = JSON.parse(await readText(request)) as Message
  if (request.url === '/host/v1/scene') {
    sceneChanged()
    sendText(response, '{"ok":true}')
    return
  }
  if (isStateless(request)) {
    onStateless(response, message)
    return
  }
  if (message.method === 'initialize') {
    const id = randomUUID()
    sessions.set(id, { subscribed: new Set() })
    response.setHeader('Mcp-Session-Id', id)
    sendResult(response, message.id, 'initialize', () => initializeResult)
    return
  }
  const session = find(request)
  if (session === undefined) {
    response.writeHead(404).end()
  } else if (message.id === undefined) {
    response.writeHead(202).end()
  } else {
    const uri = message.params?.uri ?? ''
    if (message.method === 'resources/subscribe') session.subscribed.add(uri)
    const { id, method } = message
    sendResult(response, id, method + uri, () => resultOf(fixture, method, uri))
  }
}

function onStateless(response: ServerResponse, { id = 0, method, params }: Message): void {
  const uri = params?.uri ?? ''
  if (method !== 'subscriptions/listen') {
    const result = () => ({ ...statelessOpening, ...resultOf(fixture, method, uri) })
    sendResult(response, id, `stateless ${method}${uri}`, result)
    return
  }
  listening.set(response, id)
  response.on('close', () => listening.delete(response))
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
  response.write(acknowledgementEvent(sceneUri, id))
}

function openStream(request: IncomingMessage, response: ServerResponse): void {
  const session = find(request)
  if (session === undefined) {
    response.writeHead(404).end()
    return
  }
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
  for (const [stream, id] of listening) stream.write(updateEvent(sceneUri, id))
}

function find(request: IncomingMessage): Session | undefined {
  return sessions.get(String(request.headers['mcp-session-id']))
}

function readText(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (part: string) => (text += part))
    request.on('end', () => resolve(text))
    request.on('error', reject)
  })
}

/** `key`: of the prepared result. */
function sendResult(
  response: ServerResponse,
  id: number | undefined,
  key: string,
  result: () => object,
): void {
  if (!isPrepared)
    return sendText(response, JSON.stringify({ jsonrpc: '2.0', id, result: result() }))
  let text = prepared.get(key)
  if (text === undefined) prepared.set(key, (text = JSON.stringify(result())))
  sendText(response, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`)
}

function sendText(response: ServerResponse, text: string): void {
  response.setHeader('Content-Type', 'application/json')
  response.setHeader('Content-Length', Buffer.byteLength(text))
  response.end(text)
}
