import type { Timer } from './timer.ts'

/** Resolves after a while, or as soon as the signal is aborted. */
export function pause(timer: Timer, delayMs: number, signal: AbortSignal): Promise<void> {
  if (delayMs <= 0 || signal.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const cancel = timer.after(delayMs, done)
    function done(): void {
      cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
  })
}
