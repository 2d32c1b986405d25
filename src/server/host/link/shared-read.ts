import type { Content } from '../../resources/producer.ts'
import type { Reader } from '../../resources/reader.ts'

/** One question for all who read the same URI meanwhile; given up when the last of them has left. */
export class SharedRead {
  readonly #answer: Promise<readonly Content[]>
  readonly #giveUp: () => void
  #waiting = 0

  constructor(answer: Promise<readonly Content[]>, giveUp: () => void) {
    this.#answer = answer
    this.#giveUp = giveUp
  }

  /** Without a reader, whoever asked waits to the end. */
  join(reader: Reader | undefined): Promise<readonly Content[]> {
    this.#waiting++
    if (reader === undefined) return this.#answer
    const stay = reader.onLeave(() => {
      if (--this.#waiting === 0) this.#giveUp()
    })
    this.#answer.then(stay, stay)
    return this.#answer
  }
}
