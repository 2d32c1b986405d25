/** The little of MCP that the hand-written comparison servers speak. */
import { sceneContent, sceneUri, type LoadedFixture } from '../fixture.ts'
import { metaKeys, statelessVersion } from '../load/transports.ts'
import { protocolVersion } from '../load/http-text.ts'
import type { IncomingMessage } from 'node:http'

export const initializeResult = {
  protocolVersion,
  capabilities: { resources: { subscribe: true, listChanged: true } },
  serverInfo: { name: 'bench', version: '1' },
}

export interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly uri?: string }
}

/** What an answer carries, for a method that needs no session. */
export function resultOf(fixture: LoadedFixture, method: string, uri: string): object {
  if (method === 'resources/list') return { resources: fixture.descriptors }
  if (method !== 'resources/read') return {}
  if (uri === sceneUri) {
    return { contents: [sceneContent(fixture.sceneText)] }
  }
  return { contents: [{ uri, mimeType: fixture.blobMime, blob: base64Of(fixture) }] }
}

/** What revision 2026-07-28 puts before the members of a result. */
export const statelessOpening = {
  resultType: 'complete',
  _meta: { [metaKeys.serverInfo]: { name: 'bench', title: 'bench server', version: '0.1.0' } },
  ttlMs: 0,
  cacheScope: 'private',
}

export function isStateless(request: IncomingMessage): boolean {
  return request.headers['mcp-protocol-version'] === statelessVersion
}

/** With the id of the listen it goes to, or, in a session, without. */
export function updateEvent(uri: string, listenId?: number): string {
  return `event: message\ndata: ${updateText(uri, listenId)}\n\n`
}

export function updateText(uri: string, listenId?: number): string {
  const method = 'notifications/resources/updated'
  const own = listenId === undefined ? {} : { _meta: { [metaKeys.subscriptionId]: listenId } }
  return JSON.stringify({ jsonrpc: '2.0', method, params: { uri, ...own } })
}

/** What the client of a listen is told first. */
export function acknowledgementEvent(uri: string, listenId: number): string {
  const method = 'notifications/subscriptions/acknowledged'
  const notifications = { resourceSubscriptions: [uri] }
  const params = { _meta: { [metaKeys.subscriptionId]: listenId }, notifications }
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`
}

const encodings = new WeakMap<LoadedFixture, string>()

/** Encoded once: the comparison servers hold the blob ready to send. */
function base64Of(fixture: LoadedFixture): string {
  let text = encodings.get(fixture)
  if (text === undefined) {
    text = fixture.blob.toString('base64')
    encodings.set(fixture, text)
  }
  return text
}
