import type { Unconfirmed } from '../../../lib/mcp/unconfirmed.ts'
import type { SceneStep } from '../../../lib/host-link/scene-objects.ts'

/** What was held at one revision. */
export interface SceneRevision {
  readonly revision: number
  readonly hasScene: boolean
  /** Null without a scene. Made when it is asked for: of a patched scene it costs all of it. */
  readonly text: string | null
  /** Of the text; 0 without a scene. */
  readonly bytes: number
  /** Null for revision 0, the state before the first scene. */
  readonly setAtMs: number | null
}

/** The newest scene that the server has, after its application was asked for it. */
export interface FreshScene {
  readonly scene: SceneRevision
  readonly unconfirmed: Unconfirmed
}

/** A step that is kept, beside its text. */
const stepBytes = 200

export class Revision implements SceneRevision {
  readonly revision: number
  readonly setAtMs: number | null
  readonly bytes: number
  /** What the patch after it did; null when a whole scene, or nothing yet, came after it. */
  undoes: readonly SceneStep[] | null = null
  /** It is of another source than what came after it. */
  isForgotten = false
  #text: string | null | (() => string | null)
  #isSettled = false

  constructor(
    revision: number,
    setAtMs: number | null,
    bytes: number,
    text: string | null | (() => string | null),
  ) {
    this.revision = revision
    this.setAtMs = setAtMs
    this.bytes = bytes
    this.#text = text
  }

  get hasScene(): boolean {
    return this.bytes > 0
  }

  /** Kept while it is the current one. */
  get text(): string | null {
    if (typeof this.#text !== 'function') return this.#text
    const text = this.#text()
    if (this.undoes === null && !this.#isSettled) this.#text = text
    return text
  }

  /** What is kept of it once another one is current. */
  get keptBytes(): number {
    const { undoes } = this
    if (undoes === null) return this.bytes
    return undoes.reduce((sum, { before }) => sum + stepBytes + (before?.length ?? 0), stepBytes)
  }

  /** A patch came after it: its text can be had from there. */
  undoneBy(steps: SceneStep[], text: () => string | null): void {
    this.undoes = steps
    this.#text = text
  }

  /**
   * A whole scene comes after it: its text is kept, outside of the heap. There, thousands of texts
   * that live for minutes would let the heap grow to ten times their size.
   */
  settle(): void {
    const { text } = this
    if (text === null) return
    const kept = Buffer.from(text)
    this.#text = () => kept.toString()
    this.#isSettled = true
  }
}
