import { once } from 'node:events'
import { type Agent, type IncomingMessage, request } from 'node:http'
import { parseAnswers, RawSocket } from '../process/raw-socket.ts'
import { damaged } from './arbitraries.ts'
import { sessionPlaces } from './headers.ts'
import { tokenPlace } from './host-requests.ts'
import { hexPlace, type Made } from './requests.ts'

/** What stands where a made request has only a place. */
export interface Places {
  /** Ids, in the order of `sessionPlaces`. */
  readonly sessions: readonly string[]
  readonly token: string
  readonly hex: string
}

/** A request as it goes out. */
export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}

export interface Answer {
  readonly status: number
  readonly type: string
  /** Of a session that was opened. */
  readonly sessionId: string | undefined
  readonly text: string
}

/** Nothing that is asked may take longer, however loaded the machine is. */
const deadlineMs = 50_000

export function fillIn({ method, path, headers, body, damage }: Made, places: Places): Sent {
  const fill = (text: string) =>
    sessionPlaces
      .reduce((all, place, at) => all.replace(place, places.sessions[at] ?? ''), text)
      .replace(tokenPlace, places.token)
      .replaceAll(hexPlace, places.hex)
  return {
    method,
    path: fill(path),
    headers: [
      ['Host', '127.0.0.1'],
      ...headers.map(([name, value]) => [name, fill(value)] as const),
    ],
    body: damaged(Buffer.from(fill(body)), damage),
  }
}

/**
 * Sends it on a connection of the agent. An event stream is closed as soon as it is open, or after
 * its first event when that is the answer to a POST.
 */
export async function send(url: string, agent: Agent, sent: Sent): Promise<Answer> {
  const { hostname: host, port } = new URL(url)
  const { method, path, body } = sent
  const headers = [...sent.headers.flat(), 'Content-Length', `${body.length}`]
  const signal = AbortSignal.timeout(deadlineMs)
  const req = request({ host, port, method, path, headers, agent, setHost: false, signal })
  req.end(body)
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  const type = res.headers['content-type'] ?? ''
  const status = res.statusCode ?? 0
  const sessionId = res.headers['mcp-session-id'] as string | undefined
  let text = ''
  if (type === 'text/event-stream' && method !== 'POST') res.destroy()
  else {
    for await (const chunk of res.setEncoding('utf8')) {
      text += chunk
      if (type === 'text/event-stream' && text.includes('\n\n')) break
    }
  }
  return { status, type, sessionId, text }
}

/** Writes the bytes on a connection of their own; whatever whole answers came back. */
export async function sendBytes(url: string, bytes: Uint8Array): Promise<Answer[]> {
  const raw = await RawSocket.open(Number(new URL(url).port))
  raw.socket.end(bytes)
  // A stream that was opened never ends by itself.
  const enough = () => raw.received.includes('text/event-stream')
  await raw.waitFor(enough, 'an answer or the end', deadlineMs)
  raw.close()
  // "100 Continue" is no answer yet.
  const answers = parseAnswers(raw.received).filter(({ status }) => status !== 100)
  return answers.map(({ status, headers, body }) => ({
    status,
    type: headers['content-type'] ?? '',
    sessionId: headers['mcp-session-id'],
    text: Buffer.from(body, 'latin1').toString(),
  }))
}

/** The request as bytes. */
export function writeOut({ method, path, headers, body }: Sent, length: string): Buffer {
  const head = [
    `${method} ${path} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(length === 'right' ? [] : [length]),
    ...(/^(Content-Length|Transfer)/.test(length) ? [] : [`Content-Length: ${body.length}`]),
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body])
}
