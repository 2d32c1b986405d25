import http from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { isLoopback, proxyEnv } from '../../util/address.ts'
import { refuseForeignListeners } from '../../util/port-holder.ts'
import type { Secret } from '../../util/secret.ts'
import type { Timer } from '../../util/time.ts'
import type { BridgeLimits } from './limits.ts'
import { describeSocketError, Unreachable } from './trouble.ts'

export interface HttpAsk {
  readonly url: URL
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer | undefined
  /** Done twice it does no harm: it may be sent again where a kept connection had just ended. */
  readonly repeatable: boolean
  /** The answer must begin within this. */
  readonly answerMs: number
  readonly signal: AbortSignal
}

interface HttpLinkParts {
  readonly limits: Pick<BridgeLimits, 'connectMs'>
  /** Sent to the server the user named, and to no other: redirects are not followed. */
  readonly key: Secret | null
  readonly env: NodeJS.ProcessEnv
  readonly timer: Timer
  /** Called when an answer is overdue, and not again before the server has answered anything. */
  readonly overdue?: (url: URL) => void
  /** Absent: none is sent. */
  readonly userAgent?: string
}

/** So often a quiet connection is checked by the system, so that a dead machine is noticed. */
const probeMs = 30_000
/** Few answers take so long: a server that needs more for one has usually stopped. */
const overdueMs = 5000
const stale = new Set(['ECONNRESET', 'EPIPE'])

/** HTTP requests to the endpoint. An answer of any status is an answer. */
export class HttpLink {
  readonly #parts: HttpLinkParts
  readonly #agents = new Map<string, http.Agent>()

  #isOverdue = false

  constructor(parts: HttpLinkParts) {
    this.#parts = parts
  }

  /**
   * Resolves when the answer begins. Rejects with `Unreachable` when there is none, and with the
   * reason of the signal when that is aborted; aborting later breaks the answer off.
   */
  async ask(options: HttpAsk): Promise<IncomingMessage> {
    try {
      return await this.#once(options, this.#agent(options.url))
    } catch (error) {
      if (!(error instanceof StaleConnection) || !options.repeatable) throw error
      return this.#once(options, false)
    }
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
  }

  #once(options: HttpAsk, agent: http.Agent | false): Promise<IncomingMessage> {
    const { url, method, headers, body, signal } = options
    signal.throwIfAborted()
    const { key, limits, timer, userAgent } = this.#parts
    const secret = key === null ? {} : { Authorization: `Bearer ${key.reveal()}` }
    const length = body === undefined ? {} : { 'Content-Length': String(body.length) }
    const { request } = url.protocol === 'https:' ? https : http
    return new Promise((resolve, reject) => {
      const req = request(url, {
        method,
        headers: {
          ...(userAgent !== undefined && { 'User-Agent': userAgent }),
          ...{ ...headers, ...length, ...secret },
        },
        agent: agent === false ? this.#single(url) : agent,
        signal,
      })
      let cancel = timer.after(limits.connectMs, () => {
        req.destroy(new Unreachable('no connection came about in time'))
      })
      whenConnected(req, url, () => {
        cancel()
        const cancelOverdue = timer.after(overdueMs, () => this.#overdue(url))
        const cancelAnswer = timer.after(options.answerMs, () => {
          req.destroy(new Unreachable('it does not answer'))
        })
        cancel = () => {
          cancelOverdue()
          cancelAnswer()
        }
      })
      req.once('response', answer => {
        cancel()
        this.#isOverdue = false
        resolve(answer)
      })
      // Stays: an error after the answer began is told by the answer itself.
      req.on('error', (error: NodeJS.ErrnoException) => {
        cancel()
        if (signal.aborted) return reject(signal.reason)
        if (error instanceof Unreachable) return reject(error)
        const reused = req.reusedSocket && stale.has(error.code ?? '')
        const text = describeSocketError(error, url)
        reject(reused ? new StaleConnection(text) : new Unreachable(text))
      })
      req.end(body)
    })
  }

  #overdue(url: URL): void {
    if (this.#isOverdue) return
    this.#isOverdue = true
    this.#parts.overdue?.(url)
  }

  #agent(url: URL): http.Agent {
    const found = this.#agents.get(url.origin)
    if (found !== undefined) return found
    const agent = this.#make(url, true)
    this.#agents.set(url.origin, agent)
    return agent
  }

  #single(url: URL): http.Agent {
    return this.#make(url, false)
  }

  /** A proxy is never asked for this machine: it would be led to the wrong loopback. */
  #make(url: URL, keepAlive: boolean): http.Agent {
    const local = isLoopback(url.hostname)
    const options = { keepAlive, ...(local ? {} : { proxyEnv: proxyEnv(this.#parts.env) }) }
    // A certificate proves whose server it is, whichever account runs it.
    if (url.protocol === 'https:') return new https.Agent(options)
    const agent = new http.Agent(options)
    if (local && this.#parts.key !== null) refuseForeignListeners(agent, () => foreign(url))
    return agent
  }
}

/** Another user who took the port of an ended server would receive its key. */
function foreign({ host }: URL): Unreachable {
  return new Unreachable(`another user listens at ${host}; the API key was not sent`)
}

/** The server had closed the kept connection when the request was sent on it. */
class StaleConnection extends Unreachable {}

function whenConnected(req: ClientRequest, url: URL, connected: () => void): void {
  req.once('socket', (socket: Socket) => {
    socket.setKeepAlive(true, probeMs)
    socket.setNoDelay(true)
    if (!socket.connecting) return connected()
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', connected)
  })
}
