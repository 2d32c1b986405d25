/** What the comparison servers have in common: the little of MCP that they speak. */
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { blobUri, makeBlob, makeSceneText, sceneUri } from '../fixture.ts'

export interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly uri?: string }
}

/** What a server that looks sessions up keeps of each. */
export interface Session<Stream> {
  readonly subscribed: Set<string>
  stream?: Stream
}

export const initializeResult = {
  protocolVersion: '2025-06-18',
  capabilities: { resources: { subscribe: true, listChanged: true } },
  serverInfo: { name: 'bench', version: '1' },
}

const { BENCH_RESOURCES: given } = process.env
/** The result of `resources/list`. */
export const resources: readonly { uri: string; name: string }[] = given
  ? JSON.parse(given)
  : [sceneUri, blobUri].map(uri => ({ uri, name: uri }))

// Facts beside the text, as long as those of `serve`.
const facts = { run: '5f0c9a1e', revision: 12, set_at: '2026-11-25T01:58:01.200Z' }
const sceneContent = {
  uri: sceneUri,
  mimeType: 'application/json',
  text: makeSceneText(0),
  _meta: { 'service-cli/scene': { ...facts, size: 2048, application: null } },
}

/** Encoded once: the comparison servers hold the blob ready to send. */
let blob: string | undefined

export function resultOf(method: string, uri: string): any {
  if (method === 'resources/list') return { resources }
  if (method !== 'resources/read') return {}
  if (uri === sceneUri) return { contents: [sceneContent] }
  blob ??= makeBlob(0).toString('base64')
  return { contents: [{ uri, mimeType: 'application/octet-stream', blob }] }
}

/** Says that the scene changed. */
export const updateText = JSON.stringify({
  jsonrpc: '2.0',
  method: 'notifications/resources/updated',
  params: { uri: sceneUri },
})
export const updateEvent = `event: message\ndata: ${updateText}\n\n`

/** Listens on a free loopback port and says so the way `service-cli serve --json` does. */
export function listen(answer: RequestListener): void {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1', 4096, () => announce(server.address() as AddressInfo))
}

export function announce({ port }: { readonly port: number }): void {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}/mcp` }))
}

export function openEventStream(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
  response.flushHeaders()
}

export function sendJson(response: ServerResponse, body: string | Buffer): void {
  response.setHeader('Content-Type', 'application/json')
  response.setHeader('Content-Length', Buffer.byteLength(body))
  response.end(body)
}
