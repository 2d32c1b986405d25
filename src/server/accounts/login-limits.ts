import type { LoginFailures } from './account-store.ts'

/** One failure is forgotten in this time, so a steady attacker gets about 96 tries a day. */
export const forgetFailureMs = 15 * 60_000
const firstDelayMs = 30_000
/** Not longer than it takes to forget one failure: the delay is over when the next try is due. */
const maxDelayMs = forgetFailureMs

/** The source under which failures of all unknown addresses for a name are counted together. */
export const unknownAddresses = ''

/**
 * Failures at one name from all addresses that never logged in to it delay such addresses from
 * this multiple of `maxLoginFailures` on: one or two attackers cannot reach it.
 */
export const unknownAddressesFactor = 10

/** The failures of a name or a source that are not forgotten yet. */
export function countFailures(failures: LoginFailures | null, nowMs: number): number {
  // Recorded before the clock was set back: how long ago is unknown, and waiting has no bound.
  if (failures === null || nowMs + forgetFailureMs < failures.lastMs) return 0
  return Math.max(0, Math.ceil((failures.forgottenAtMs - nowMs) / forgetFailureMs))
}

/**
 * Milliseconds until the next password may be tried. The first `free` failures cost nothing; each
 * further one doubles the delay.
 */
export function loginDelayMs(failures: LoginFailures | null, free: number, nowMs: number): number {
  const count = countFailures(failures, nowMs)
  if (failures === null || count < free) return 0
  const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(count - free, 40))
  return Math.max(0, failures.lastMs + delayMs - nowMs)
}

/** Counts of one kind of event, by address, within windows of fixed length. */
export interface CountedWindows {
  /** Milliseconds until the window ends, when it has its most; else 0. */
  waitMs(key: string, nowMs: number): number
  add(key: string, nowMs: number): void
}

interface Window {
  readonly startedMs: number
  count: number
}

/** About 1 MB for each kind of event. */
const usualMaxKeys = 10_000

/** Kept in memory, for at most `maxKeys`: beyond that the longest known key is forgotten. */
export function createCountedWindows(limits: {
  windowMs: number
  most: number
  maxKeys?: number
}): CountedWindows {
  const { maxKeys = usualMaxKeys } = limits
  const windows = new Map<string, Window>()

  function current(key: string, nowMs: number): Window | undefined {
    const found = windows.get(key)
    // A clock that was set back begins anew as well.
    const isOver =
      found !== undefined && (nowMs >= found.startedMs + limits.windowMs || nowMs < found.startedMs)
    if (isOver) windows.delete(key)
    return isOver ? undefined : found
  }

  return {
    waitMs(key, nowMs) {
      const found = current(key, nowMs)
      if (found === undefined || found.count < limits.most) return 0
      return found.startedMs + limits.windowMs - nowMs
    },
    add(key, nowMs) {
      const found = current(key, nowMs)
      if (found !== undefined) {
        found.count++
        return
      }
      const oldest = windows.keys().next()
      if (windows.size >= maxKeys && !oldest.done) windows.delete(oldest.value)
      windows.set(key, { startedMs: nowMs, count: 1 })
    },
  }
}
