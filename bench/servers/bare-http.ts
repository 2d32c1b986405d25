/**
 * The limit: node:http with answers built beforehand. The body is read and searched, never
 * parsed; no session is looked up, nothing is checked.
 */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { readFixture, sceneUri } from '../fixture.ts'
import { listenAndAnnounce } from './announce.ts'
import { putDurably, sendFile } from './plain-files.ts'
import {
  acknowledgementEvent,
  initializeResult,
  isStateless,
  resultOf,
  statelessOpening,
  updateEvent,
} from './protocol.ts'

const fixture = readFixture()
const uploads = join(fixture.folder, 'uploads')
/** Each with the update as it goes to that stream. */
const streams = new Map<ServerResponse, Buffer>()
const update = Buffer.from(updateEvent(sceneUri))
/** Calls that are answered when the scene changes. */
const waiting = new Set<ServerResponse>()

const inSessions = answersAfter({})
const stateless = answersAfter(statelessOpening)
const empty = beforeId({})
const initialized = beforeId(initializeResult)

/** The id comes last, so that all before it is the same bytes each time. */
function answersAfter(opening: object) {
  const answer = (method: string, uri: string) =>
    beforeId({ ...opening, ...resultOf(fixture, method, uri) })
  return {
    scene: answer('resources/read', sceneUri),
    list: answer('resources/list', ''),
    blob: Buffer.from(answer('resources/read', fixture.blobUri)),
  }
}

function beforeId(result: unknown): string {
  return `{"jsonrpc":"2.0","result":${JSON.stringify(result)},"id":`
}

listenAndAnnounce((request, response) => {
  if (request.method === 'GET') onGet(request, response)
  else if (request.method === 'DELETE') response.writeHead(200).end()
  else collect(request, body => onPost(request, response, body))
})

function collect(request: IncomingMessage, done: (body: Buffer) => void): void {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const [only = Buffer.alloc(0)] = parts
    done(parts.length < 2 ? only : Buffer.concat(parts))
  })
}

function onGet(request: IncomingMessage, response: ServerResponse): void {
  if (request.url !== '/mcp') {
    sendFile(response, fixture.blobFile, fixture.blob.length)
    return
  }
  openStream(response, update)
}

function openStream(response: ServerResponse, update: Buffer): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
  response.flushHeaders()
  streams.set(response, update)
  response.on('close', () => streams.delete(response))
}

function onPost(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  if (request.url === '/mcp') onMessage(request, response, body)
  else if (request.url === '/host/v1/scene') {
    for (const [stream, update] of streams) stream.write(update)
    for (const call of waiting) sendText(call, 'changed: scene://current')
    waiting.clear()
    sendText(response, '{"ok":true}')
  } else {
    void putDurably(uploads, body).then(hex => {
      response.statusCode = 201
      sendText(response, `{"uri":"artefact://sha256/${hex}"}`)
    })
  }
}

function onMessage(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const text = body.toString('latin1')
  const idAt = text.indexOf('"id":')
  if (idAt === -1) {
    response.writeHead(202).end()
    return
  }
  const id = text.slice(idAt + 5, idAt + 12)
  const answers = isStateless(request) ? stateless : inSessions
  if (text.includes('resources/read')) {
    if (text.includes(sceneUri)) sendText(response, `${answers.scene}${id}}`)
    else sendBlob(response, answers.blob, id)
  } else if (text.includes('resources/list')) {
    sendText(response, `${answers.list}${id}}`)
  } else if (text.includes('wait_for_change')) {
    waiting.add(response)
    response.on('close', () => waiting.delete(response))
  } else if (text.includes('"initialize"')) {
    response.setHeader('Mcp-Session-Id', randomUUID())
    sendText(response, `${initialized}${id}}`)
  } else if (text.includes('subscriptions/listen')) {
    openStream(response, Buffer.from(updateEvent(sceneUri, Number(id))))
    response.write(acknowledgementEvent(sceneUri, Number(id)))
  } else {
    sendText(response, `${empty}${id}}`)
  }
}

function sendText(response: ServerResponse, text: string): void {
  response.setHeader('Content-Type', 'application/json')
  response.setHeader('Content-Length', text.length)
  response.end(text, 'latin1')
}

function sendBlob(response: ServerResponse, blob: Buffer, id: string): void {
  response.setHeader('Content-Type', 'application/json')
  response.setHeader('Content-Length', blob.length + id.length + 1)
  response.cork()
  response.write(blob)
  response.end(`${id}}`, 'latin1')
  response.uncork()
}
