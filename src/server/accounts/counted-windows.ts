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
  readonly windowMs: number
  readonly most: number
  readonly maxKeys?: number
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
