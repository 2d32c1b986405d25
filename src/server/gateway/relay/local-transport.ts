import { buildConnector, errors, Pool } from 'undici'
import { gatewayKey } from '../../../lib/instances/gateway-key.ts'
import { readSecretFile } from '../../../lib/auth/secret-file.ts'
import {
  describeSocketError,
  foreignListener,
  Unreachable,
} from '../../../lib/mcp/bridge/bridge-errors.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import { isForeignSocket, isLoopback } from '../../../lib/util/net.ts'
import { Secret } from '../../../lib/util/secret.ts'
import { AnswerBody } from './answer-body.ts'
import type { InstanceAnswer, InstanceRequest, InstanceTransport } from './transport.ts'

const connectMs = 5000
/** Requests to one instance at the same time; further ones wait. */
const maxConnections = 1024

interface LocalTransportParts {
  /** Returns the address of the instance. Throws a `ServiceError` while it has none here. */
  readonly locate: () => URL
  /**
   * A gateway that lets every caller read must not open an instance that asks for a key: then no key
   * is sent.
   */
  readonly mayUseKey: () => boolean
  /** The file with the host token of the instance, of which the key is made. */
  readonly tokenFile: string
}

/** Reaches an instance of this machine over kept connections, with the key of this account. */
export class LocalTransport implements InstanceTransport {
  readonly #parts: LocalTransportParts
  #pool: Pool | null = null
  #key: Promise<Secret | null> | null = null

  constructor(parts: LocalTransportParts) {
    this.#parts = parts
  }

  async send(request: InstanceRequest, signal: AbortSignal): Promise<InstanceAnswer> {
    this.#pool ??= new Pool(this.#parts.locate().origin, {
      connect: createConnector(),
      connections: maxConnections,
      // The connection to an instance watches the time: a call may wait for long.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    const key = this.#parts.mayUseKey() ? await (this.#key ??= this.#readKey()) : null
    const headers =
      key === null
        ? request.headers
        : { ...request.headers, Authorization: `Bearer ${key.reveal()}` }
    const sent = { ...request, headers }
    const answer = await this.#ask(sent, signal)
      // The instance may have closed a kept connection just before.
      .catch(error => {
        if (signal.aborted || !isLost(error)) throw error
        return this.#ask(sent, signal)
      })
      .catch(error => {
        throw signal.aborted ? signal.reason : asUnreachable(error)
      })
    // The key may be another one by now.
    if (answer.status === 401) this.#key = null
    return answer
  }

  /** Resolves when the answer begins. */
  #ask(
    { method, path, headers, body: sent }: InstanceRequest,
    signal: AbortSignal,
  ): Promise<InstanceAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#pool === null) throw new Unreachable('the connection was cut')
      let body: AnswerBody | null = null
      let abort = (): void => {}
      const release = onAbort(signal, () => {
        // It may wait for a connection.
        reject(signal.reason)
        abort()
      })
      this.#pool.dispatch(
        { method, path, headers, body: sent },
        {
          onRequestStart(controller) {
            abort = () => controller.abort(signal.reason)
            if (signal.aborted) abort()
          },
          onResponseStart(controller, status, answered) {
            if (status < 200) return
            body = new AnswerBody({
              pause: () => controller.pause(),
              resume: () => controller.resume(),
              abort: () => controller.abort(new Unreachable('the connection was cut')),
            })
            resolve({ status, headers: answered, body })
          },
          onResponseData: (_controller, chunk) => body?.push(chunk),
          onResponseEnd() {
            release()
            body?.end(null)
          },
          onResponseError(_controller, error) {
            release()
            if (body === null) reject(error)
            else body.end(signal.aborted ? signal.reason : asUnreachable(error))
          },
        },
      )
    })
  }

  close(): void {
    void this.#pool?.destroy()
    this.#pool = null
  }

  /** Null: the host token is unknown here, or not written yet; the instance may need no key at all. */
  async #readKey(): Promise<Secret | null> {
    const token = await readSecretFile(this.#parts.tokenFile, 'host token').catch(() => null)
    if (token !== null) return gatewayKey(new Secret(token))
    this.#key = null
    return null
  }
}

/** Connections are only used when the program that listens there is of this user, or of root. */
function createConnector(): buildConnector.connector {
  const connect = buildConnector({ timeout: connectMs, allowH2: false })
  return (options, done) =>
    connect(options, (error, socket) => {
      if (error !== null) return done(error, null)
      const { remoteAddress, remotePort } = socket
      // On another machine the certificate, or the operator, says who listens.
      if (remoteAddress !== undefined && !isLoopback(remoteAddress)) return done(null, socket)
      void isForeignSocket(socket).then(isForeign => {
        // Without this error undici connects again without end.
        if (socket.destroyed) return done(new errors.SocketError('closed'), null)
        if (!isForeign) return done(null, socket)
        socket.destroy()
        done(foreignListener(`${remoteAddress}:${remotePort}`), null)
      })
    })
}

function isLost(error: NodeJS.ErrnoException): boolean {
  return (
    error instanceof errors.SocketError || error.code === 'ECONNRESET' || error.code === 'EPIPE'
  )
}

function asUnreachable(error: NodeJS.ErrnoException): Unreachable {
  if (error instanceof Unreachable) return error
  if (error instanceof errors.ConnectTimeoutError)
    return new Unreachable('the connection timed out')
  if (error instanceof errors.ClientDestroyedError) return new Unreachable('the connection was cut')
  return new Unreachable(
    describeSocketError(isLost(error) ? { ...error, code: 'ECONNRESET' } : error),
  )
}
