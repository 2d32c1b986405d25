import { jsonContents } from './scheme-producer.ts'
import type { Content } from './producer.ts'

/** Answers of one resource, and characters of each. */
const maxAnswers = 16
const maxAnswerChars = 1024 * 1024

/**
 * The answers made since the state last changed, so that many readers of one state cost one
 * serialisation. All go when the version moves on.
 */
export class KeptAnswers {
  readonly #answers = new Map<string, readonly Content[]>()
  #version = -1

  /** `meta` belongs to the version, as the text does. */
  get(
    version: number,
    uri: string,
    build: () => string,
    meta?: Content['_meta'],
  ): readonly Content[] {
    if (version !== this.#version) {
      this.#answers.clear()
      this.#version = version
    }
    const kept = this.#answers.get(uri)
    if (kept !== undefined) return kept
    const text = build()
    const contents = jsonContents(uri, text, meta)
    if (this.#answers.size < maxAnswers && text.length <= maxAnswerChars) {
      this.#answers.set(uri, contents)
    }
    return contents
  }
}
