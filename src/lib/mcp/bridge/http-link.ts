import http from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { ServiceError } from '../../util/errors.ts'
import { isLoopback, refuseForeignListeners } from '../../util/net.ts'
import { proxyAgentOptions, proxyFor } from '../../util/proxy.ts'
import type { Secret } from '../../util/secret.ts'
import { systemTimer } from '../../util/time.ts'
import { userAgent } from '../../util/version.ts'
import { describeSocketError, foreignListener, Unreachable } from './bridge-errors.ts'

export interface HttpAsk {
  readonly url: URL
  readonly method: 'POST' | 'GET' | 'HEAD' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  /** A stream may be of any length. */
  readonly body?: Buffer | string | Readable
  /** Longest time without data until the answer begins. */
  readonly answerMs: number
  readonly signal: AbortSignal
}

interface HttpLinkParts {
  /**
   * The key, or how to get that of the server that was found last. Sent only to the server that the
   * user named: redirects are not followed. Nothing is sent with a key to a port of this machine
   * where another user listens.
   */
  readonly key: Secret | null | (() => Secret | null)
  readonly env: NodeJS.ProcessEnv
}

const connectMs = 5000
/** The TCP keep-alive interval, which detects a dead machine. */
const probeMs = 30_000

/** Sends HTTP requests to the endpoint. */
export class HttpLink {
  readonly #parts: HttpLinkParts
  readonly #agents = new Map<string, http.Agent>()

  constructor(parts: HttpLinkParts) {
    this.#parts = parts
  }

  get key(): Secret | null {
    const { key } = this.#parts
    return typeof key === 'function' ? key() : key
  }

  /**
   * Resolves when an answer of any status begins. Rejects with `Unreachable`, or with the reason of
   * the signal. Aborting later ends the answer.
   */
  async ask(options: HttpAsk): Promise<IncomingMessage> {
    const { url, method, headers, body, signal, answerMs } = options
    signal.throwIfAborted()
    const { key } = this
    const agent = this.#agents.get(url.origin) ?? this.#openAgent(url)
    const { request } = url.protocol === 'https:' ? https : http
    const upload = body instanceof Readable ? body : null
    const whole = body instanceof Readable ? undefined : body
    return new Promise((resolve, reject) => {
      const req = request(url, {
        method,
        headers: {
          'User-Agent': userAgent,
          ...headers,
          ...(whole !== undefined && { 'Content-Length': String(Buffer.byteLength(whole)) }),
          ...(key !== null && { Authorization: `Bearer ${key.reveal()}` }),
        },
        agent,
        signal,
      })
      const fail = (reason: string) => () => req.destroy(new Unreachable(reason))
      const cancel = systemTimer.after(connectMs, fail('the connection timed out'))
      whenConnected(req, url, cancel)
      req.setTimeout(answerMs, fail('it does not answer'))
      req.once('response', answer => {
        req.setTimeout(0)
        // An answer before the end of the body refuses it.
        upload?.unpipe(req)
        resolve(answer)
      })
      // Never removed: after the answer began, the answer reports the error too.
      req.on('error', (error: NodeJS.ErrnoException) => {
        cancel()
        if (signal.aborted) return reject(signal.reason)
        if (error instanceof Unreachable || error instanceof ServiceError) return reject(error)
        reject(new Unreachable(describeSocketError(error)))
      })
      if (upload === null) req.end(whole)
      else upload.once('error', error => req.destroy(error)).pipe(req)
    })
  }

  /** Throws `config_invalid` for a proxy variable that cannot be used. */
  #openAgent(url: URL): http.Agent {
    const { key, env } = this.#parts
    const isSecure = url.protocol === 'https:'
    const { Agent } = isSecure ? https : http
    const proxy = proxyAgentOptions(proxyFor(url, env))
    const agent = new Agent({ keepAlive: true, keepAliveMsecs: probeMs, ...proxy })
    // For https the certificate identifies the server.
    if (!isSecure && isLoopback(url.hostname) && key !== null) {
      refuseForeignListeners(agent, () => foreignListener(url.host))
    }
    this.#agents.set(url.origin, agent)
    return agent
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
  }
}

function whenConnected(req: ClientRequest, url: URL, connected: () => void): void {
  req.once('socket', (socket: Socket) => {
    if (!socket.connecting) return connected()
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', connected)
  })
}
