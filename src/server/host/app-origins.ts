import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { WebSocket } from 'ws'
import { Secret } from '../../lib/util/secret.ts'

/** Web pages of one origin, which may be the application. */
export interface AppOrigin {
  /** As browsers write it. */
  readonly origin: string
  /** What its pages present in this run of the server. */
  readonly token: Secret
}

export function makeAppOrigins(origins: readonly string[] = []): AppOrigin[] {
  return [...new Set(origins)].map(origin => ({
    origin,
    token: new Secret(randomBytes(32).toString('base64url')),
  }))
}

/** The named origin that the request comes from; null: it has another one, or none. */
export function findAppOrigin(
  origins: readonly AppOrigin[],
  { headers }: IncomingMessage,
): AppOrigin | null {
  return origins.find(({ origin }) => origin === headers.origin?.toLowerCase()) ?? null
}

/** Lets pages of the origin read the answer. Returns true when a preflight was answered. */
export function allowOrigin(
  { method }: IncomingMessage,
  res: ServerResponse,
  { origin }: AppOrigin,
): boolean {
  res.setHeader('Access-Control-Allow-Origin', origin)
  res.setHeader('Vary', 'Origin')
  if (method !== 'OPTIONS') return false
  res.writeHead(204, {
    'Access-Control-Allow-Methods': 'POST, PATCH',
    'Access-Control-Allow-Headers': 'Authorization, Content-Type',
    'Access-Control-Max-Age': '600',
  })
  res.end()
  return true
}

/** A page cannot send `Authorization` with a WebSocket: its first message, the hello, has the token. */
export function expectToken(ws: WebSocket, { token }: AppOrigin, onRefused: () => void): void {
  // This listener is the first: once it has closed the link, the others ignore the message.
  ws.once('message', data => {
    if (token.equals(tokenIn(String(data)))) return
    ws.close(4401, 'the hello does not have the token that serve --app-origin printed')
    onRefused()
  })
}

/** Empty where there is none. */
function tokenIn(text: string): string {
  try {
    const { token } = JSON.parse(text)
    return typeof token === 'string' ? token : ''
  } catch {
    return ''
  }
}

/** Types of messages that a page may not send. */
export const refusedFromPages: ReadonlySet<string> = new Set([
  'audit.record',
  'note.add',
  'note.act',
])
