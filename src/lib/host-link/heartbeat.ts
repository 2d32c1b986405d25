import type { Clock } from '../util/clock.ts'
import type { Link } from './link.ts'

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
