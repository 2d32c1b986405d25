import { type Clock, pause, type Timer } from '../util/time.ts'
import { messageOf } from '../util/errors.ts'
import { afterEnding, type Ending } from './after-ending.ts'
import type { ClientLimits } from './host-client-options.ts'
import type { HostAddress } from './find-serve.ts'
import type { Feed } from './feeds.ts'
import { Link, type ServerWord } from './link.ts'
import { startHeartbeat } from './status-watch.ts'

export type HostState =
  /** Not started, or stopped. */
  | 'stopped'
  /** Searches a server or opens the link. */
  | 'connecting'
  | 'connected'
  /** Retries after a pause. */
  | 'waiting'
  /** The server refuses this client permanently. `start()` tries again. */
  | 'refused'

export interface HostStatus {
  readonly state: HostState
  /** One sentence for people. */
  readonly text: string
  /** The last known address of the server, or null. */
  readonly url: string | null
  /** The latest error; kept after recovery. */
  readonly lastError: string | null
}

interface ConnectionParts {
  readonly limits: ClientLimits
  readonly timer: Timer
  readonly clock: Clock
  readonly random: () => number
  /** Finds the server to try next. `known` is the address of the previous one. */
  readonly find: (known: string | null) => Promise<HostAddress | null>
  readonly hello: () => string
  readonly heartbeat: (idleMs: number) => string
  readonly feeds: readonly Feed[]
  readonly heard: (message: ServerWord, link: Link) => void
  readonly changed: (status: HostStatus) => void
}

/** Keeps a link to the server open from `start` to `stop`. */
export class Connection {
  readonly #parts: ConnectionParts
  #status: HostStatus = { state: 'stopped', text: 'not started', url: null, lastError: null }
  #link: Link | null = null
  #stop: AbortController | null = null
  #reconnectAfterMs = 0
  #openedAt: number | null = null

  constructor(parts: ConnectionParts) {
    this.#parts = parts
  }

  get status(): HostStatus {
    return this.#status
  }

  /** The open link, or null. */
  get link(): Link | null {
    return this.#link?.open ? this.#link : null
  }

  get running(): boolean {
    return this.#stop !== null
  }

  start(): void {
    if (this.#stop !== null) return
    this.#stop = new AbortController()
    void this.#run(this.#stop)
  }

  /** Resolves when nothing waits any more, without a link, or after `stopGraceMs`. */
  async flushed(isWaiting: () => boolean): Promise<void> {
    const { clock, timer, limits } = this.#parts
    const untilMs = clock.now() + limits.stopGraceMs
    while (this.link !== null && isWaiting() && clock.now() < untilMs) {
      await new Promise<void>(resolve => void timer.after(10, resolve))
    }
  }

  /** Resolves when the connection is closed. */
  async stop(reason: string, clear: boolean): Promise<void> {
    const link = this.#link
    this.#stop?.abort()
    this.#stop = null
    if (link?.open) link.bye(reason, clear)
    else link?.cut('the client stopped')
    await link?.ended
    // Unless it was started again meanwhile.
    if (this.#stop === null) this.#set('stopped', `stopped: ${reason}`)
  }

  /** Reports an error that does not end the link. */
  report(error: string): void {
    this.#change({ ...this.#status, lastError: error })
  }

  async #run(stop: AbortController): Promise<void> {
    const { signal } = stop
    // Keeps the process alive between two attempts.
    const alive = setInterval(() => {}, 2 ** 31 - 1)
    let attempt = 0
    while (!signal.aborted) {
      this.#reconnectAfterMs = 0
      this.#openedAt = null
      const [ending, explicitToken] = await this.#attempt(signal)
      if (signal.aborted) break
      if (this.#wasStable()) attempt = 0
      const { random } = this.#parts
      const reconnectAfterMs = this.#reconnectAfterMs
      const next = afterEnding(ending, { attempt, explicitToken, reconnectAfterMs, random })
      attempt++
      if (!next.retry) {
        this.#stop = null
        this.#set('refused', next.text, next.text)
        break
      }
      this.#set('waiting', `${next.text}; trying again`, next.text)
      await pause(this.#parts.timer, next.delayMs, signal)
    }
    clearInterval(alive)
  }

  /** Finds a server and holds the link to its end. */
  async #attempt(signal: AbortSignal): Promise<[ending: Ending, explicitToken: boolean]> {
    this.#set('connecting', 'looking for a server')
    const found = await this.#find()
    if ('kind' in found) return [found, false]
    if (signal.aborted) return [{ kind: 'lost', text: 'stopped' }, false]
    const { url, token, explicit } = found
    this.#change({ ...this.#status, state: 'connecting', text: `connecting to ${url}`, url })
    const { limits, timer, clock, hello, heard } = this.#parts
    const options = { url, token, limits, timer, clock, hello: hello() }
    const link = new Link({
      ...options,
      welcomed: opened => this.#welcomed(opened, url),
      heard: (message, from) => {
        if (message.type === 'shutdown') this.#reconnectAfterMs = message.reconnect_after_ms ?? 0
        else heard(message, from)
      },
    })
    this.#link = link
    const ending = await link.ended
    if (this.#link === link) this.#link = null
    return [ending, explicit]
  }

  async #find(): Promise<HostAddress | Ending> {
    try {
      return (await this.#parts.find(this.#status.url)) ?? { kind: 'nowhere' }
    } catch (error) {
      return { kind: 'lost', text: messageOf(error) }
    }
  }

  #welcomed(link: Link, url: string): void {
    this.#openedAt = this.#parts.clock.now()
    const { feeds, clock, heartbeat } = this.#parts
    for (const feed of feeds) feed.attach(link)
    startHeartbeat(link, clock, heartbeat)
    this.#set('connected', `connected to ${url}`)
  }

  /** Only a link of some duration resets the backoff: the server may hang up after each welcome. */
  #wasStable(): boolean {
    const { clock, limits } = this.#parts
    return this.#openedAt !== null && clock.now() - this.#openedAt >= limits.stableMs
  }

  #set(state: HostState, text: string, lastError = this.#status.lastError): void {
    this.#change({ ...this.#status, state, text, lastError })
  }

  #change(status: HostStatus): void {
    this.#status = status
    this.#parts.changed(status)
  }
}
