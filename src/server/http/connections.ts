import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * From this many unanswered requests on, a connection is not read. Node itself looks only at the
 * bytes of finished answers, so a client that pipelines and never reads would fill the memory.
 * Far above what pipelining clients keep open.
 */
const maxUnansweredRequests = 32

/**
 * One read of 64 KiB may hold thousands of requests, and Node parses all of it. The answer to this
 * one closes the connection; requests behind it are dropped, and clients send those again.
 */
const maxPipelinedRequests = 256

/** What of a connection has not been answered. */
interface Unanswered {
  /** Answers that have not left yet. */
  count: number
  newest: ServerResponse | null
}

/** Every connection, with its answers that have not left yet. */
export class Connections {
  readonly #unanswered = new Map<Socket, Unanswered>()
  /** With TLS: connections whose handshake is not done, by their ends. */
  readonly #handshaking = new Map<string, Socket>()
  #closing = false

  /** `ended` receives connections of which no further request is acted on. */
  constructor(server: Server, secure: boolean, ended: WeakSet<Socket>) {
    const isOpen = (socket: Socket) => {
      this.#unanswered.set(socket, { count: 0, newest: null })
      socket.once('close', () => this.#unanswered.delete(socket))
      socket.on('resume', () => this.#keepPaused(socket))
    }
    if (secure) {
      server.on('connection', socket => {
        const ends = endsOf(socket)
        this.#handshaking.set(ends, socket)
        socket.once('close', () => {
          if (this.#handshaking.get(ends) === socket) this.#handshaking.delete(ends)
        })
      })
      server.on('secureConnection', (socket: Socket) => {
        // The same connection, as an object of its own.
        this.#handshaking.delete(endsOf(socket))
        isOpen(socket)
      })
    } else server.on('connection', isOpen)
    server.on('request', ({ socket }, res) => {
      const open = this.#unanswered.get(socket)
      if (open === undefined) return
      if (open.count === maxPipelinedRequests) {
        ended.add(socket)
        return
      }
      open.count++
      open.newest = res
      if (open.count === maxUnansweredRequests) socket.pause()
      else if (open.count === maxPipelinedRequests) res.setHeader('Connection', 'close')
      // After the last byte was handed to the system, or with the connection.
      res.once('close', () => this.#left(socket, open))
    })
    // It closes itself, properly, or is cut.
    server.on('upgrade', ({ socket }) => {
      const open = this.#unanswered.get(socket)
      if (open !== undefined) open.count++
    })
  }

  /** Idle ones now (also those opened ahead of need, as browsers do), the others when they are. */
  closeWhenAnswered(): void {
    this.#closing = true
    for (const [socket, { count }] of this.#unanswered) if (count === 0) socket.destroy()
    for (const socket of this.#handshaking.values()) socket.destroy()
  }

  /** The next bytes on the connection would be taken for the answer to what could not be read. */
  mayAnswer(socket: Socket): boolean {
    const { count, newest } = this.#unanswered.get(socket) ?? { count: 1, newest: null }
    if (count === 0) return true
    // The broken one itself, in its body.
    return count === 1 && newest !== null && !newest.headersSent && !newest.req.complete
  }

  cut(): void {
    for (const socket of this.#unanswered.keys()) socket.destroy()
  }

  /** Node resumes a socket after each complete request. */
  #keepPaused(socket: Socket): void {
    const { count } = this.#unanswered.get(socket) ?? { count: 0 }
    if (count >= maxUnansweredRequests) socket.pause()
  }

  #left(socket: Socket, open: Unanswered): void {
    open.count--
    if (open.count === maxUnansweredRequests - 1) socket.resume()
    if (open.count === 0) open.newest = null
    if (this.#closing && open.count === 0) socket.destroySoon()
  }
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(' ')
}
