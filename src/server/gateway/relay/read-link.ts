import type { IncomingHttpHeaders } from 'node:http'
import { buildConnector, Client, type Dispatcher, errors, Pool } from 'undici'
import {
  describeSocketError,
  foreignListener,
  Unreachable,
} from '../../../lib/mcp/bridge/bridge-errors.ts'
import { isForeignSocket, isLoopback } from '../../../lib/util/net.ts'
import type { Secret } from '../../../lib/util/secret.ts'
import type { AnswerReceiver, Arriving, ReadRequest, ReadSender } from './instance-transport.ts'

interface ReadLinkParts {
  readonly connectMs: number
  readonly key: Secret | null
}

/** The instance did not connect or answer in time: asking again would take as long. */
export class AnswerTimeout extends Unreachable {}

/**
 * Sends reads to one instance over kept connections. Made with undici, which takes less than half the
 * CPU of `HttpLink` for a request.
 */
export class ReadLink implements ReadSender {
  readonly #parts: ReadLinkParts
  #pool: { readonly origin: string; readonly pool: Pool } | null = null

  constructor(parts: ReadLinkParts) {
    this.#parts = parts
  }

  send(request: ReadRequest, receiver: AnswerReceiver): (reason: Error) => void {
    const { key } = this.#parts
    const headers =
      key === null
        ? request.headers
        : { ...request.headers, Authorization: `Bearer ${key.reveal()}` }
    const sent = new ReadDispatch({ ...request, headers }, receiver, () => {
      // Other kept connections may be closed as well.
      const client = new Client(request.url.origin, { connect: this.#connector() })
      dispatch(client, sent)
      void client.close()
    })
    dispatch(this.#poolOf(request.url), sent)
    return reason => sent.cut(reason)
  }

  close(): void {
    void this.#pool?.pool.destroy()
    this.#pool = null
  }

  /** An instance has one address; after a restart it may be another one. */
  #poolOf({ origin }: URL): Pool {
    if (this.#pool?.origin === origin) return this.#pool.pool
    void this.#pool?.pool.close()
    const pool = new Pool(origin, { connect: this.#connector() })
    this.#pool = { origin, pool }
    return pool
  }

  /** Connections are only used when the program that listens there is of this user, or of root. */
  #connector(): buildConnector.connector {
    const connect = buildConnector({ timeout: this.#parts.connectMs, allowH2: false })
    return (options, done) =>
      connect(options, (error, socket) => {
        if (error !== null) return done(error, null)
        // On another machine the certificate, or the operator, says who listens.
        const { remoteAddress } = socket
        if (remoteAddress !== undefined && !isLoopback(remoteAddress)) return done(null, socket)
        const refused = foreignListener(`${socket.remoteAddress}:${socket.remotePort}`)
        void isForeignSocket(socket).then(isForeign => {
          // Without this error undici connects again without end.
          if (socket.destroyed) return done(connectionReset(), null)
          if (!isForeign) return done(null, socket)
          socket.destroy()
          done(refused, null)
        })
      })
  }
}

function dispatch(dispatcher: Dispatcher, sent: ReadDispatch): void {
  const { url, headers, body, answerMs, silenceMs } = sent.request
  dispatcher.dispatch(
    {
      method: 'POST',
      path: url.pathname,
      headers,
      body,
      headersTimeout: answerMs,
      bodyTimeout: silenceMs,
    },
    sent,
  )
}

function connectionReset(): Error {
  return Object.assign(new Error('closed'), { code: 'ECONNRESET' })
}

/** Passes what undici tells of one request to its receiver. */
class ReadDispatch implements Dispatcher.DispatchHandler, Arriving {
  readonly request: ReadRequest
  readonly #receiver: AnswerReceiver
  /** Sends the request again, once. */
  #again: (() => void) | null
  #controller: Dispatcher.DispatchController | null = null
  #hasBegun = false
  #reason: Error | null = null

  constructor(request: ReadRequest, receiver: AnswerReceiver, again: () => void) {
    this.request = request
    this.#receiver = receiver
    this.#again = again
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  cut(reason: Error): void {
    if (this.#reason !== null) return
    this.#reason = reason
    // Before the request has a connection nothing else tells the receiver.
    if (this.#controller === null) this.#receiver.failed(reason)
    else this.#controller.abort(reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#reason !== null && this.#controller === null) return controller.abort(this.#reason)
    this.#controller = controller
  }

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    // Instances send no informational answers, and each one would begin the time for the answer anew.
    if (status < 200) return this.cut(new Unreachable(`it answers with HTTP ${status}`))
    this.#hasBegun = true
    this.#receiver.begun(status, headers, this)
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    // undici also reports an empty piece when it is resumed.
    if (chunk.length > 0) this.#receiver.data(chunk)
  }

  onResponseEnd(): void {
    this.#receiver.ended()
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#reason !== null) {
      // The receiver of a request that never had a connection knows already.
      if (this.#controller !== null) this.#receiver.failed(this.#reason)
      return
    }
    const again = this.#again
    this.#again = null
    // The instance may have closed a kept connection just before.
    if (!this.#hasBegun && isLost(error) && again !== null) {
      this.#controller = null
      return again()
    }
    this.#receiver.failed(this.#describe(error))
  }

  #describe(error: NodeJS.ErrnoException): Error {
    if (error instanceof Unreachable) return error
    if (error instanceof errors.ConnectTimeoutError)
      return new AnswerTimeout('the connection timed out')
    if (error instanceof errors.HeadersTimeoutError) return new AnswerTimeout('it does not answer')
    if (error instanceof errors.BodyTimeoutError) return new Unreachable('it stopped answering')
    const isClosed = error instanceof errors.ClientDestroyedError
    if (this.#hasBegun || isClosed) return new Unreachable('the connection was cut')
    return new Unreachable(
      describeSocketError(isLost(error) ? { ...error, code: 'ECONNRESET' } : error),
    )
  }
}

function isLost(error: NodeJS.ErrnoException): boolean {
  return (
    error instanceof errors.SocketError || error.code === 'ECONNRESET' || error.code === 'EPIPE'
  )
}
