import { signal } from '@preact/signals'
import { durationText } from '../../src/lib/util/amounts.ts'

/** The time, for texts such as "3 s ago"; moves on once a second while the page is shown. */
export const nowMs = signal(Date.now())

setInterval(() => {
  if (!document.hidden) nowMs.value = Date.now()
}, 1000)
document.addEventListener('visibilitychange', () => (nowMs.value = Date.now()))

/** "just now", "12 s ago"; the time of day where the clock of the server is ahead of the browser's. */
export function ago(atMs: number): string {
  const elapsedMs = nowMs.value - atMs
  if (elapsedMs < -2000) return `at ${new Date(atMs).toLocaleTimeString()}`
  return elapsedMs < 2000 ? 'just now' : `${durationText(elapsedMs)} ago`
}
