/** The little of MCP that the comparison servers speak. */
import { blobMime, type Fixture, makeBlob, sceneUri } from '../fixture.ts'

export interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly uri?: string }
}

export const initializeResult = {
  protocolVersion: '2025-06-18',
  capabilities: { resources: { subscribe: true, listChanged: true } },
  serverInfo: { name: 'bench', version: '1' },
}

/** Encoded once: the comparison servers hold the blob ready to send. */
let base64: string | undefined

export function resultOf(fixture: Fixture, method: string, uri: string): object {
  if (method === 'resources/list') return { resources: fixture.resources }
  if (method !== 'resources/read') return {}
  if (uri !== sceneUri) {
    base64 ??= makeBlob(0).toString('base64')
    return { contents: [{ uri, mimeType: blobMime, blob: base64 }] }
  }
  // Facts beside the text, as long as those of `serve`.
  const facts = { run: '5f0c9a1e', revision: 12, set_at: '2026-11-25T01:58:01.200Z' }
  const _meta = { 'service-cli/scene': { ...facts, size: 2048, application: null } }
  return { contents: [{ uri, mimeType: 'application/json', text: fixture.sceneText, _meta }] }
}

export function updateText(uri: string): string {
  const method = 'notifications/resources/updated'
  return JSON.stringify({ jsonrpc: '2.0', method, params: { uri } })
}

export function updateEvent(uri: string): string {
  return `event: message\ndata: ${updateText(uri)}\n\n`
}
