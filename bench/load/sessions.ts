import type { Connection } from './connection.ts'
import {
  protocolVersion,
  requestText,
  rpcText,
  sessionHeaders,
  sessionMark,
  withId,
  type Place,
} from './http-text.ts'

/** The texts that open a session, in order. */
export interface SessionTexts {
  readonly initialize: string
  readonly initialized: string
  readonly subscribe: string
}

export function sessionTexts(place: Place, uri: string): SessionTexts {
  const inSession = { ...place, headers: { ...sessionHeaders, ...place.headers } }
  const { 'Content-Type': type, Accept } = sessionHeaders
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
  const note = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  const opening = requestText(
    'POST',
    { ...place, headers: { 'Content-Type': type, Accept, ...place.headers } },
    rpcText('initialize', params),
  )
  return {
    initialize: withId(opening, 0),
    initialized: requestText('POST', inSession, note),
    subscribe: withId(requestText('POST', inSession, rpcText('resources/subscribe', { uri })), 1),
  }
}

/** Opens a session over the connection and returns its id. */
export async function openSession(connection: Connection, texts: SessionTexts): Promise<string> {
  const answer = await connection.request(texts.initialize)
  const session = /\nmcp-session-id: *([^\r\n]+)/i.exec(answer.head)?.[1]
  if (answer.status !== 200 || session === undefined) {
    throw new Error(`initialize was answered ${answer.status} without a session`)
  }
  await expectStatus(connection, texts.initialized.replace(sessionMark, session), 202)
  return session
}

export async function expectStatus(
  connection: Connection,
  text: string,
  status: number,
): Promise<void> {
  const answer = await connection.request(text)
  if (answer.status !== status) {
    throw new Error(`${text.slice(0, text.indexOf('\r'))} was answered ${answer.status}`)
  }
}
