import type { Result } from '../../../lib/result.ts'
import type { LinkRefusal } from './refusal.ts'

/** What became of a scene: the revision that it is, or that stands in its place. */
export type SceneOutcome = Result<
  { readonly revision: number; readonly superseded: boolean },
  LinkRefusal
>

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

  flush(): void {
    const newestFirst = this.#waiting.reverse()
    this.#waiting = []
    let revision: number | null = null
    for (const { text, settle } of newestFirst) {
      if (revision !== null) {
        settle({ ok: true, value: { revision, superseded: true } })
        continue
      }
      const taken = this.#take(text)
      if (taken.ok) {
        revision = taken.value
        settle({ ok: true, value: { revision, superseded: false } })
      } else settle(taken)
    }
  }
}
