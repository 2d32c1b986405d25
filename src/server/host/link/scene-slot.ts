import { ok, type Result } from '../../../lib/util/result.ts'
import type { LinkRefusal } from './failures.ts'

/** The greatest pause between two scenes that the application is asked for. */
export const maxSceneIntervalMs = 1000

/** What became of a scene: the revision that it is, or that stands in its place. */
type SceneOutcome = Result<{ readonly revision: number; readonly superseded: boolean }, LinkRefusal>

interface Waiting {
  readonly text: string
  settle(outcome: SceneOutcome): void
}

/**
 * Scenes that arrived and are not taken yet. Only the newest is: the others are answered with the
 * revision that stands in their place. One that turns out to be no scene does not take the place
 * of a good one before it.
 */
export class SceneSlot {
  readonly #take: (text: string) => Result<number, LinkRefusal>
  #waiting: Waiting[] = []

  constructor(take: (text: string) => Result<number, LinkRefusal>) {
    this.#take = take
  }

  put(text: string, settle: Waiting['settle']): void {
    this.#waiting.push({ text, settle })
  }

  /** Answers in the order of arrival. */
  flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    const outcomes: SceneOutcome[] = []
    let revision: number | null = null
    for (const { text } of waiting.toReversed()) {
      if (revision !== null) {
        outcomes.unshift(ok({ revision, superseded: true }))
        continue
      }
      const taken = this.#take(text)
      if (taken.ok) revision = taken.value
      outcomes.unshift(taken.ok ? ok({ revision: taken.value, superseded: false }) : taken)
    }
    for (const [index, outcome] of outcomes.entries()) waiting[index]?.settle(outcome)
  }
}

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

/** Whether the new interval is far enough from the announced one to announce it. */
export function isWorthTelling(announcedMs: number, nowMs: number): boolean {
  if (announcedMs === nowMs) return false
  if (announcedMs === 0 || nowMs === 0) return true
  return nowMs >= announcedMs * 2 || nowMs * 2 <= announcedMs
}
