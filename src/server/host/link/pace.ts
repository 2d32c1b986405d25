/** A scene may take this share of the server's time. */
const share = 10
/** Shorter pauses than this are not worth a message. */
const leastMs = 10

/**
 * The least time between two scenes, in milliseconds, so that taking them in, at `costMs` each,
 * needs no more than a tenth of the server's time. 0: as often as they come.
 */
export function sceneIntervalMs(costMs: number, maxSceneIntervalMs: number): number {
  const wanted = Math.ceil(costMs * share)
  return wanted < leastMs ? 0 : Math.min(wanted, maxSceneIntervalMs)
}

/** Is the new interval far enough from the announced one that the application should hear of it? */
export function isWorthTelling(announcedMs: number, nowMs: number): boolean {
  if (announcedMs === nowMs) return false
  if (announcedMs === 0 || nowMs === 0) return true
  return nowMs >= announcedMs * 2 || nowMs * 2 <= announcedMs
}
