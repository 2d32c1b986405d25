import type { Timer } from '../timer.ts'
import type { Link } from './link.ts'

/** Resolves after a while, or when the link has ended. */
export function pauseOn(link: Link, timer: Timer, delayMs: number): Promise<void> {
  if (delayMs <= 0 || !link.open) return Promise.resolve()
  return new Promise(resolve => {
    const cancel = timer.after(delayMs, done)
    function done(): void {
      cancel()
      link.signal.removeEventListener('abort', done)
      resolve()
    }
    link.signal.addEventListener('abort', done)
  })
}
