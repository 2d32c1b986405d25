import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { atEnd } from '../helpers/cleanup.ts'

export interface RawAnswer {
  status: number
  /** Names in lower case. */
  headers: Record<string, string>
  body: string
}

/** A connection on which a test writes bytes as it likes, well-formed or not. */
export class RawSocket {
  readonly socket: Socket
  #received = ''
  #closed = false
  #wasReset = false
  #wake: (() => void)[] = []

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', bytes => {
      this.#received += bytes.toString('latin1')
      this.#changed()
    })
    socket.on('error', () => (this.#wasReset = true))
    socket.on('close', () => {
      this.#closed = true
      this.#changed()
    })
  }

  static async open(port: number): Promise<RawSocket> {
    const socket = connect({ host: '127.0.0.1', port })
    atEnd(() => socket.destroy())
    await once(socket, 'connect')
    return new RawSocket(socket)
  }

  get received(): string {
    return this.#received
  }

  /** The connection did not end as one that has nothing more to say. */
  get wasReset(): boolean {
    return this.#wasReset
  }

  get closed(): boolean {
    return this.#closed
  }

  write(text: string | Uint8Array): void {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text)
  }

  close(): void {
    this.socket.destroy()
  }

  /** Waits until `count` whole answers came, or the server closed the connection. */
  async answers(count: number): Promise<RawAnswer[]> {
    const found = () => parseAnswers(this.#received)
    await this.waitFor(() => found().length >= count, `${count} answers`)
    return found()
  }

  /** Waits until the server ends the connection. */
  async untilClosed(): Promise<void> {
    await this.waitFor(() => false, 'the end of the connection')
  }

  /** Waits for the condition or the end of the connection. */
  async waitFor(condition: () => boolean, what: string, deadlineMs = 55_000): Promise<void> {
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.close()
    }, deadlineMs)
    while (!condition() && !this.#closed) {
      await new Promise<void>(resolve => this.#wake.push(resolve))
    }
    clearTimeout(timer)
    if (late) throw new Error(`not within ${deadlineMs} ms: ${what}; got "${this.#received}"`)
  }

  #changed(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}

/** Sends the bytes on a connection of their own and returns the first answer, if there is one. */
export async function exchange(
  port: number,
  bytes: string | Uint8Array,
): Promise<RawAnswer | undefined> {
  const raw = await RawSocket.open(port)
  try {
    raw.write(bytes)
    const [answer] = await raw.answers(1)
    return answer
  } finally {
    raw.close()
  }
}

/** A request as text: the head from its lines, then the body. */
export function requestText(lines: readonly string[], body = ''): string {
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

/** The whole answers at the start of what came; interim ones (1xx) are answers, too. */
function parseAnswers(text: string): RawAnswer[] {
  const found: RawAnswer[] = []
  for (let at = 0; at < text.length;) {
    const headEnd = text.indexOf('\r\n\r\n', at)
    if (headEnd === -1) break
    const [first = '', ...lines] = text.slice(at, headEnd).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1])
    const headers: Record<string, string> = {}
    for (const line of lines) {
      const colon = line.indexOf(':')
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
    }
    const start = headEnd + 4
    const bodyless = status < 200 || status === 204 || status === 304
    const body = bodyless ? { text: '', end: start } : readBody(text, start, headers)
    if (body === null) break
    found.push({ status, headers, body: body.text })
    at = body.end
  }
  return found
}

function readBody(
  text: string,
  start: number,
  headers: Record<string, string>,
): { text: string; end: number } | null {
  if (headers['transfer-encoding'] !== 'chunked') {
    const end = start + Number(headers['content-length'] ?? 0)
    return end > text.length ? null : { text: text.slice(start, end), end }
  }
  let body = ''
  for (let at = start; ;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd === -1) return null
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    const end = lineEnd + 2 + size + 2
    if (end > text.length) return null
    body += text.slice(lineEnd + 2, lineEnd + 2 + size)
    if (size === 0) return { text: body, end }
    at = end
  }
}
