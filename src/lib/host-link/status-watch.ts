import type { Logger } from '../util/logger.ts'
import type { Clock, Timer } from '../util/time.ts'
import type { HostStatus } from './connection.ts'
import { HostLinkError } from './errors.ts'
import type { Link } from './link.ts'

export interface WaitOptions {
  /** Gives up waiting. */
  readonly signal?: AbortSignal
  /** Gives up after so many milliseconds; waits for ever without it. */
  readonly timeoutMs?: number
}

interface StatusWatchParts {
  readonly log: Logger
  readonly timer: Timer
  readonly onStatus: ((status: HostStatus) => void) | undefined
}

/** Tells those who want to know how the link is doing. */
export class StatusWatch {
  readonly #parts: StatusWatchParts
  readonly #waiting = new Set<(status: HostStatus) => void>()
  #said = ''

  constructor(parts: StatusWatchParts) {
    this.#parts = parts
  }

  changed(status: HostStatus): void {
    const { log, onStatus } = this.#parts
    // Every attempt says the same while no server runs: once is enough.
    if (status.text !== this.#said && status.state !== 'connecting') {
      log.info({ state: status.state, url: status.url }, status.text)
      this.#said = status.text
    }
    for (const tell of [...this.#waiting]) tell(status)
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
    const given = () => fail('stopped', 'the caller gave up waiting for the connection')
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
 * Sends `text(idleMs)` at once and every `heartbeat_ms` of the welcome while the link is open.
 * `idleMs` is how late the beat is: so long the event loop of this process was kept busy.
 */
export function startHeartbeat(link: Link, clock: Clock, text: (idleMs: number) => string): void {
  const periodMs = link.welcome.heartbeat_ms
  const plan = (): void => {
    const dueMs = clock.now() + periodMs
    const cancel = link.later(periodMs, () => {
      link.signal.removeEventListener('abort', cancel)
      if (!link.open) return
      // A server that reads nothing gets no pile of old heartbeats.
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
  /** Nothing was heard for so long. */
  readonly silent: () => void
}

/**
 * Watches for silence; call what it returns whenever something is heard. A silence is looked at a
 * second time before it counts: after a pause of this process the news are queued.
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
