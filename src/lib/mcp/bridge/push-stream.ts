import { pause, retryDelay } from '../../util/time.ts'
import type { BridgeContext, Target } from './context.ts'
import { exchange, type Exchanged, type ServerText } from './exchange.ts'

interface PushStreamParts extends BridgeContext {
  readonly target: Target
  /** Headers of the session. */
  readonly headers: Readonly<Record<string, string>>
  readonly deliver: (text: ServerText) => Promise<void>
  /** Called when the stream is open again; notifications sent meanwhile are lost. */
  readonly resumed: () => void
  /** Called when the server no longer knows the session. */
  readonly sessionEnded: () => void
  readonly lost: (reason: string) => void
}

/** A stream that stays open this long resets the backoff. */
const stableMs = 5000

/** The GET stream of a session; reopens whenever it ends. */
export class PushStream {
  readonly #parts: PushStreamParts
  readonly #stop = new AbortController()

  constructor(parts: PushStreamParts) {
    this.#parts = parts
  }

  /** Resolves when the stream is open, the server refuses it, or after `streamOpenMs`. */
  open(): Promise<void> {
    const { timer, limits } = this.#parts
    return new Promise(resolve => {
      const cancel = timer.after(limits.streamOpenMs, resolve)
      const settle = (): void => {
        cancel()
        resolve()
      }
      void this.#run(settle).then(settle)
    })
  }

  close(): void {
    this.#stop.abort()
  }

  async #run(settled: () => void): Promise<void> {
    const { timer, random, resumed } = this.#parts
    const { signal } = this.#stop
    let failures = 0
    for (let gap = false; !signal.aborted; gap = true) {
      let cancelStable = (): void => {}
      const ended = await this.#once(() => {
        settled()
        cancelStable = timer.after(stableMs, () => (failures = 0))
        if (gap) resumed()
      })
      cancelStable()
      const delayMs = this.#pauseAfter(ended, failures, random)
      if (delayMs === null) return
      failures++
      await pause(timer, delayMs, signal)
    }
  }

  #once(begun: () => void): Promise<Exchanged> {
    const { target, headers, limits, deliver } = this.#parts
    return exchange(
      // An idle stream is not broken.
      { ...this.#parts, silenceMs: null },
      {
        url: target.url,
        method: 'GET',
        headers: { ...headers, Accept: 'text/event-stream' },
        repeatable: true,
        answerMs: limits.answerMs,
        signal: this.#stop.signal,
      },
      {
        begun,
        async deliver(text) {
          await deliver(text)
          return true
        },
      },
    )
  }

  /** The delay before reopening; null for never. */
  #pauseAfter(ended: Exchanged, failures: number, random: () => number): number | null {
    const { sessionEnded, lost, log } = this.#parts
    if (this.#stop.signal.aborted) return null
    const delayMs = retryDelay(failures, random)
    switch (ended.kind) {
      case 'aborted':
        return null
      case 'ended':
        return Math.max(delayMs, ended.retryMs ?? 0)
      case 'oversize':
        return delayMs
      case 'broken':
        if (ended.begun) return delayMs
        lost(ended.reason)
        return null
      case 'refused':
        if (ended.status >= 500 || ended.status === 429) return delayMs
        if (ended.status === 404) sessionEnded()
        else log.info({ status: ended.status }, 'the server has no stream for notifications')
        return null
    }
  }
}
