import type { Timer } from './timer.ts'

/**
 * Runs it again and again, each time `delayMs` after the last one has ended; it must not reject.
 * Returns the stop.
 */
export function repeat(timer: Timer, delayMs: number, run: () => Promise<void>): () => void {
  let cancel = () => {}
  let stopped = false

  async function step(): Promise<void> {
    await run()
    schedule()
  }

  function schedule(): void {
    if (!stopped) cancel = timer.after(delayMs, () => void step())
  }

  schedule()
  return () => {
    stopped = true
    cancel()
  }
}
