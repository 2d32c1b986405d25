import { setTimeout as delay } from 'node:timers/promises'

/** Looks again and again until the condition holds; fails after the deadline, just before mocha's. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what = String(condition),
  deadlineMs = 55_000,
): Promise<void> {
  const end = performance.now() + deadlineMs
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`)
    await delay(10)
  }
}
