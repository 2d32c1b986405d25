/** The little of MCP that the hand-written comparison servers speak. */
import { sceneUri, type LoadedFixture } from '../fixture.ts'
import { protocolVersion } from '../load/http-text.ts'

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
export function resultOf(fixture: LoadedFixture, method: string, uri: string): unknown {
  if (method === 'resources/list') return { resources: fixture.descriptors }
  if (method !== 'resources/read') return {}
  if (uri === sceneUri) {
    return { contents: [{ uri, mimeType: 'application/json', text: fixture.sceneText }] }
  }
  return { contents: [{ uri, mimeType: fixture.blobMime, blob: base64Of(fixture) }] }
}

export function updateEvent(uri: string): string {
  return `event: message\ndata: ${updateText(uri)}\n\n`
}

export function updateText(uri: string): string {
  const method = 'notifications/resources/updated'
  return JSON.stringify({ jsonrpc: '2.0', method, params: { uri } })
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
