import type { Clock } from '../util/clock.ts'
import type { Timer } from '../util/timer.ts'

export interface SilenceParts {
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
