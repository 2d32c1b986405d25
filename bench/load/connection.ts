import { connect, type Socket } from 'node:net'
import tls from 'node:tls'
import { ResponseParser, type Answer } from './response-parser.ts'

const readBytes = 256 * 1024

/** Ports of this machine that speak TLS, with certificates made for the run. */
export const tlsPorts = new Set<number>()

/** One keep-alive connection with one request under way at a time. */
export class Connection {
  readonly #socket: Socket
  readonly #parser: ResponseParser
  #settle: { done: (answer: Answer) => void; failed: (error: Error) => void } | undefined

  private constructor(port: number, connected: () => void) {
    // Reading into one buffer again and again keeps large answers cheap for this side.
    const onread = {
      buffer: Buffer.allocUnsafe(readBytes),
      callback: (count: number, buffer: Uint8Array) => {
        this.#parser.feed(Buffer.from(buffer.buffer, buffer.byteOffset, count))
        return true
      },
    }
    const at = { port, host: '127.0.0.1', noDelay: true }
    this.#socket = tlsPorts.has(port)
      ? tls.connect({ ...at, rejectUnauthorized: false }, connected)
      : connect({ ...at, onread }, connected)
    this.#parser = new ResponseParser(answer => {
      const settle = this.#settle
      this.#settle = undefined
      settle?.done(answer)
    })
    if (tlsPorts.has(port)) this.#socket.on('data', (data: Buffer) => this.#parser.feed(data))
    this.#socket.on('error', error => this.#fail(error))
    this.#socket.on('close', () => this.#fail(new Error('the server closed the connection')))
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const connection: Connection = new Connection(port, () => resolve(connection))
      connection.#socket.once('error', reject)
    })
  }

  /** `done` is called with the complete answer, in the same tick as its last byte arrives. */
  send(
    request: string | readonly [string, Buffer],
    done: (answer: Answer) => void,
    failed: (error: Error) => void,
  ): void {
    this.#settle = { done, failed }
    if (typeof request === 'string') {
      this.#socket.write(request, 'latin1')
      return
    }
    this.#socket.cork()
    this.#socket.write(request[0], 'latin1')
    this.#socket.write(request[1])
    this.#socket.uncork()
  }

  request(
    request: string | readonly [string, Buffer],
    options: { keepBody?: boolean } = {},
  ): Promise<Answer> {
    this.#parser.keepBody = options.keepBody === true
    return new Promise((resolve, reject) => this.send(request, resolve, reject))
  }

  close(): void {
    this.#settle = undefined
    this.#socket.destroy()
  }

  #fail(error: Error): void {
    const settle = this.#settle
    this.#settle = undefined
    settle?.failed(error)
  }
}

export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const at = { port, host: '127.0.0.1', noDelay: true }
    const isTls = tlsPorts.has(port)
    const socket = isTls ? tls.connect({ ...at, rejectUnauthorized: false }) : connect(at)
    socket.once('error', reject)
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}
