import type { Logger } from '../util/logger.ts'
import type { Clock, Timer } from '../util/time.ts'
import type { HostStatus } from './connection.ts'
import { HostLinkError } from './errors.ts'
import type { Link } from './link.ts'

export interface WaitOptions {
  /** Gives up waiting. */
  readonly signal?: AbortSignal
  /** Milliseconds. Default: no limit. */
  readonly timeoutMs?: number
}

interface StatusWatchParts {
  readonly log: Logger
  readonly timer: Timer
  readonly onStatus: ((status: HostStatus) => void) | undefined
}

/** Logs status changes, calls `onStatus` and serves `connected()`. */
export class StatusWatch {
  readonly #parts: StatusWatchParts
  readonly #waiting = new Set<(status: HostStatus) => void>()
  #said = ''

  constructor(parts: StatusWatchParts) {
    this.#parts = parts
  }

  changed(status: HostStatus): void {
    const { log, onStatus } = this.#parts
    // Attempts repeat the same text while no server runs: log it once.
    if (status.text !== this.#said && status.state !== 'connecting') {
      log.info({ state: status.state, url: status.url }, status.text)
      this.#said = status.text
    }
    for (const check of [...this.#waiting]) check(status)
    try {
      onStatus?.(status)
    } catch (error) {
      log.error({ err: error }, 'onStatus failed')
    }
  }

  connected(now: () => HostStatus, { signal, timeoutMs }: WaitOptions): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    promise.catch(() => {})
    const fail = (code: 'refused' | 'stopped' | 'timeout', text: string) => {
      end()
      reject(new HostLinkError(code, text, code === 'timeout'))
    }
    const given = () => fail('stopped', 'the caller aborted the wait for the connection')
    const late = () => fail('timeout', `not connected after ${timeoutMs} ms: ${now().text}`)
    const look = ({ state, text }: HostStatus) => {
      if (state === 'connected') {
        end()
        resolve()
      } else if (state === 'refused' || state === 'stopped') fail(state, text)
    }
    const cancel = timeoutMs === undefined ? () => {} : this.#parts.timer.after(timeoutMs, late)
    const end = () => {
      cancel()
      this.#waiting.delete(look)
      signal?.removeEventListener('abort', given)
    }
    this.#waiting.add(look)
    signal?.addEventListener('abort', given)
    look(now())
    if (signal?.aborted) given()
    return promise
  }
}

/**
 * Sends `text(idleMs)` at once and then every `heartbeat_ms` while the link is open. `idleMs` is
 * the delay of the heartbeat: the time for which the event loop was blocked.
 */
export function startHeartbeat(link: Link, clock: Clock, text: (idleMs: number) => string): void {
  const periodMs = link.welcome.heartbeat_ms
  const plan = (): void => {
    const dueMs = clock.now() + periodMs
    const cancel = link.later(periodMs, () => {
      link.signal.removeEventListener('abort', cancel)
      if (!link.open) return
      // Heartbeats must not pile up for a server that does not read.
      if (link.writable) link.send(text(Math.max(0, Math.round(clock.now() - dueMs))))
      plan()
    })
    link.signal.addEventListener('abort', cancel)
  }
  link.send(text(0))
  plan()
}

interface SilenceParts {
  readonly timer: Timer
  readonly clock: Clock
  readonly silenceMs: number
  /** Ends the watch. */
  readonly signal: AbortSignal
  /** Called after `silenceMs` of silence. */
  readonly silent: () => void
}

/**
 * Detects silence. Call the returned function for everything received. Checks a silence twice:
 * after a suspension of this process received data may still be queued.
 */
export function watchSilence({ timer, clock, silenceMs, signal, silent }: SilenceParts) {
  let heardAt = clock.now()
  const look = (doubted: boolean): void => {
    const silentMs = clock.now() - heardAt
    const doubts = silentMs >= silenceMs
    if (doubts && doubted) return silent()
    const cancel = timer.after(doubts ? silenceMs / 30 : silenceMs - silentMs, () => {
      signal.removeEventListener('abort', cancel)
      if (!signal.aborted) look(doubts)
    })
    signal.addEventListener('abort', cancel)
  }
  look(false)
  return (): void => {
    heardAt = clock.now()
  }
}
