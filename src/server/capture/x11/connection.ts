import { once } from 'node:events'
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import { type Answer, AnswerReader } from './answers.ts'
import { type DisplayKey, type DisplayName, type DisplaySetup, parseSetup } from './setup.ts'
import { hello } from './wire.ts'

/** The server's way to say no to one request: most often the window is gone. */
export class RequestRefused extends Error {
  readonly code: number

  constructor(code: number) {
    super(`the display refused a request (error ${code})`)
    this.code = code
  }
}

interface Waiting {
  readonly sequence: number
  resolve(reply: Buffer): void
  reject(error: Error): void
}

/** One conversation with an X server: requests may overtake their answers, in any number. */
export interface X11Connection {
  readonly setup: DisplaySetup
  /** Rejects with `RequestRefused`, or with another error once the connection is lost. */
  ask(request: Buffer): Promise<Buffer>
  close(): void
}

interface ConnectOptions {
  readonly key: DisplayKey | null
  readonly maxAnswerBytes: number
  /** Ends the conversation, also later. */
  readonly signal: AbortSignal
}

/** What is wrong otherwise, to follow on "the display …". */
export async function openConnection(
  display: DisplayName,
  { key, maxAnswerBytes, signal }: ConnectOptions,
): Promise<Result<X11Connection, string>> {
  const socket = await firstSocket(display, signal)
  if (socket === null) return fail('nothing answers there')
  const conversation = new Conversation(socket, maxAnswerBytes)
  const stop = (): void => conversation.end(new Error('the display took too long'))
  signal.addEventListener('abort', stop, { once: true })
  socket.once('close', () => signal.removeEventListener('abort', stop))
  socket.write(hello(key?.name ?? '', key?.data ?? Buffer.alloc(0)))
  const greeting = await conversation.greeting.then(parseSetup, () =>
    fail('it ended the connection at once'),
  )
  if (greeting.ok) return ok({ ...conversation.face(), setup: greeting.value })
  conversation.end(new Error(greeting.failure))
  return greeting
}

/** X servers listen at a path, on Linux also at a name without a file, or on a port. */
async function firstSocket(display: DisplayName, signal: AbortSignal): Promise<Socket | null> {
  const path = `/tmp/.X11-unix/X${display.number}`
  const places: NetConnectOpts[] =
    display.host === null
      ? [{ path }, ...(process.platform === 'linux' ? [{ path: `\0${path}` }] : [])]
      : [{ host: display.host, port: 6000 + display.number, noDelay: true }]
  for (const place of places) {
    if (signal.aborted) return null
    const socket = connect(place)
    try {
      await once(socket, 'connect', { signal })
      return socket
    } catch {
      socket.on('error', () => undefined).destroy()
    }
  }
  return null
}

class Conversation {
  readonly greeting: Promise<Buffer>
  readonly #socket: Socket
  readonly #reader: AnswerReader
  /** Every request that is sent has an answer, and answers keep the order of the requests. */
  readonly #waiting: Waiting[] = []
  #sent = 0
  #ended: Error | null = null

  constructor(socket: Socket, maxAnswerBytes: number) {
    this.#socket = socket
    this.#reader = new AnswerReader(maxAnswerBytes)
    this.greeting = new Promise((resolve, reject) => {
      this.#waiting.push({ sequence: 0, resolve, reject })
    })
    socket.on('data', chunk => this.#read(chunk))
    socket.on('error', error => this.end(error))
    socket.on('close', () => this.end(new Error('the display ended the connection')))
  }

  face(): Omit<X11Connection, 'setup'> {
    return {
      ask: request => this.#ask(request),
      close: () => this.end(new Error('the connection to the display was closed')),
    }
  }

  end(error: Error): void {
    if (this.#ended !== null) return
    this.#ended = error
    this.#socket.destroy()
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  #ask(request: Buffer): Promise<Buffer> {
    if (this.#ended !== null) return Promise.reject(this.#ended)
    this.#sent = (this.#sent + 1) & 0xffff
    const sequence = this.#sent
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sequence, resolve, reject })
      this.#gather()
      this.#socket.write(request)
    })
  }

  /** Requests of one turn leave together. */
  #gather(): void {
    if (this.#socket.writableCorked > 0) return
    this.#socket.cork()
    process.nextTick(() => this.#socket.uncork())
  }

  #read(chunk: Buffer): void {
    try {
      for (const answer of this.#reader.read(chunk)) this.#settle(answer)
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.shift()
    const sequence = answer.kind === 'setup' ? 0 : answer.sequence
    if (waiting === undefined || waiting.sequence !== sequence) {
      throw new Error('the display answered what was not asked')
    }
    if (answer.kind === 'error') waiting.reject(new RequestRefused(answer.code))
    else waiting.resolve(answer.bytes)
  }
}
