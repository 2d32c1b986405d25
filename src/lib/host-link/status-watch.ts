import type { Logger } from '../util/logger.ts'
import type { Timer } from '../util/timer.ts'
import type { HostStatus } from './connection.ts'
import { HostLinkError } from './errors.ts'

export interface WaitOptions {
  /** Gives up waiting. */
  readonly signal?: AbortSignal
  /** Gives up after so many milliseconds; waits for ever without it. */
  readonly timeoutMs?: number
}

export interface StatusWatchParts {
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
