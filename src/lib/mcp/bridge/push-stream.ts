import { pause, retryDelay } from '../../util/time.ts'
import type { BridgeContext, Target } from './context.ts'
import { exchange, type Exchanged, type ServerText } from './exchange.ts'

interface PushStreamParts extends BridgeContext {
  readonly target: Target
  /** Those of the session. */
  readonly headers: Readonly<Record<string, string>>
  readonly deliver: (text: ServerText) => Promise<void>
  /** Open again after a gap: what was pushed meanwhile is gone. */
  readonly resumed: () => void
  /** The server does not know the session any more. */
  readonly sessionEnded: () => void
  readonly lost: (reason: string) => void
}

/** A stream that lasted for so long makes the pauses between attempts start anew. */
const stableMs = 5000

/** The stream on which a server of the session transport sends messages, opened again whenever it ends. */
export class PushStream {
  readonly #parts: PushStreamParts
  readonly #stop = new AbortController()

  constructor(parts: PushStreamParts) {
    this.#parts = parts
  }

  /** Resolves when it stands, or the server has none, or after a while in which it did not say. */
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
      // A quiet stream is none that is broken.
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

  /** How long to wait before it is opened again; null for never. */
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
        else log.info({ status: ended.status }, 'the server has no stream for what it says unasked')
        return null
    }
  }
}
