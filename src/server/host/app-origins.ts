import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
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

/** Types of messages that a page may not send. */
export const refusedFromPages: ReadonlySet<string> = new Set([
  'audit.record',
  'note.add',
  'note.act',
])
