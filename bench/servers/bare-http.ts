/**
 * The limit: node:http with answers built beforehand. The body is read and searched, never parsed;
 * no session is looked up, nothing is checked.
 */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse } from 'node:http'
import { readFixture, sceneUri } from '../fixture.ts'
import { listenAndAnnounce } from './announce.ts'
import { putDurably } from './put-durably.ts'
import { initializeResult, resultOf, updateEvent } from './protocol.ts'

const fixture = readFixture()
const streams = new Set<ServerResponse>()
const update = Buffer.from(updateEvent(sceneUri))

/** The load gives every request the id 1. */
const answered = (result: object) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
const scene = answered(resultOf(fixture, 'resources/read', sceneUri))
const blob = answered(resultOf(fixture, 'resources/read', fixture.blobUri))
const list = answered(resultOf(fixture, 'resources/list', ''))
const initialized = answered(initializeResult)
const empty = answered({})

listenAndAnnounce((request, response) => {
  if (request.method === 'GET') openStream(response)
  else collect(request, body => onPost(request, response, body))
})

function collect(request: IncomingMessage, done: (body: Buffer) => void): void {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => done(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)))
}

function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
  response.flushHeaders()
  streams.add(response)
  response.on('close', () => streams.delete(response))
}

function onPost(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  if (request.url === '/mcp') onMessage(response, body.toString('latin1'))
  else if (request.url === '/host/v1/scene') {
    for (const stream of streams) stream.write(update)
    send(response, empty)
  } else {
    void putDurably(body).then(() => send(response, empty))
  }
}

function onMessage(response: ServerResponse, text: string): void {
  if (text.includes('resources/read')) send(response, text.includes(sceneUri) ? scene : blob)
  else if (text.includes('resources/list')) send(response, list)
  else if (!text.includes('"id":')) response.writeHead(202).end()
  else if (text.includes('"initialize"')) {
    response.setHeader('Mcp-Session-Id', randomUUID())
    send(response, initialized)
  } else {
    send(response, empty)
  }
}

function send(response: ServerResponse, bytes: Buffer): void {
  response.setHeader('Content-Type', 'application/json')
  response.setHeader('Content-Length', bytes.length)
  response.end(bytes)
}
