/**
 * The limit: node:http with answers built beforehand. The body is read and searched, never parsed;
 * no session is looked up, nothing is checked.
 */
import { hash, randomUUID } from 'node:crypto'
import { open, rename } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { blobUri, sceneUri } from '../fixture.ts'
import {
  initializeResult,
  listen,
  openEventStream,
  resultOf,
  sendJson,
  updateEvent,
} from './protocol.ts'

const streams = new Set<ServerResponse>()
const update = Buffer.from(updateEvent)

/** The load gives every request the id 1. */
const answered = (result: object) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
const scene = answered(resultOf('resources/read', sceneUri))
const blob = answered(resultOf('resources/read', blobUri))
const list = answered(resultOf('resources/list', ''))
const initialized = answered(initializeResult)
const empty = answered({})

listen((request, response) => {
  if (request.method === 'GET') {
    openEventStream(response)
    streams.add(response)
    response.on('close', () => streams.delete(response))
  } else {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => onPost(request, response, Buffer.concat(parts)))
  }
})

function onPost(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  if (request.url === '/mcp') onMessage(response, body.toString('latin1'))
  else if (request.url === '/host/v1/scene') {
    for (const stream of streams) stream.write(update)
    sendJson(response, empty)
  } else {
    void putDurably(body).then(() => sendJson(response, empty))
  }
}

function onMessage(response: ServerResponse, text: string): void {
  if (text.includes('resources/read')) sendJson(response, text.includes(sceneUri) ? scene : blob)
  else if (text.includes('resources/list')) sendJson(response, list)
  else if (!text.includes('"id":')) response.writeHead(202).end()
  else if (text.includes('"initialize"')) {
    response.setHeader('Mcp-Session-Id', randomUUID())
    sendJson(response, initialized)
  } else {
    sendJson(response, empty)
  }
}

/** What an upload costs at least: hash, write, fsync, rename, fsync of the folder. */
async function putDurably(bytes: Buffer): Promise<void> {
  const name = hash('sha256', bytes)
  await using file = await open(`${name}.tmp`, 'w', 0o600)
  await file.writeFile(bytes)
  await file.sync()
  await rename(`${name}.tmp`, name)
  await using folder = await open('.', 'r')
  await folder.sync()
}
