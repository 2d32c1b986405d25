import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { once } from 'node:events'

/** What one server said to one raw request. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** The body; of an event stream the first message, and nothing when it answers no POST. */
  readonly text: string
}

export interface RawRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** A server that has not answered by then never will. */
const patienceMs = 50_000

export function createAgent(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 8 })
}

/** Sends exactly these headers (and Host, when none is named). Null: the server never answered. */
export async function exchange(
  url: string,
  { method, headers, body }: RawRequest,
  agent: Agent,
): Promise<Answer | null> {
  const signal = AbortSignal.timeout(patienceMs)
  try {
    const req = httpRequest(url, { method, headers, agent, signal })
    // An early answer may close the connection while the body is still being written.
    req.on('error', () => {})
    req.end(body)
    const [res] = (await once(req, 'response', { signal })) as [IncomingMessage]
    const isStream = res.headers['content-type']?.startsWith('text/event-stream') === true
    const text = isStream ? await firstMessage(res, method === 'POST') : await whole(res)
    return { status: res.statusCode ?? 0, headers: res.headers, text }
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}

async function whole(res: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of res) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** Leaves the stream after its first message; one that nobody asked anything brings none. */
async function firstMessage(res: IncomingMessage, isRequired: boolean): Promise<string> {
  let text = ''
  if (isRequired) {
    for await (const chunk of res) {
      text += String(chunk)
      const data = /^data: ?(.+)\r?\n\r?\n/m.exec(text)
      if (data !== null) return data[1] ?? ''
    }
  }
  res.on('error', () => {})
  res.destroy()
  return ''
}
