import { hash, timingSafeEqual } from 'node:crypto'
import { inspect } from 'node:util'

const redacted = '[secret]'

/** A text that must not reach a log, an error or an answer: every way of printing it is redacted. */
export class Secret {
  readonly #text: string
  readonly #digest: Buffer

  /** Throws `TypeError` for the empty text, which would equal a header without a token. */
  constructor(text: string) {
    if (text === '') throw new TypeError('a secret must not be empty')
    this.#text = text
    this.#digest = digestOf(text)
  }

  /** The text itself. Each call is a place where the secret may leak: keep them few. */
  reveal(): string {
    return this.#text
  }

  /** Compares in a time that depends on neither text; digests make the lengths equal. */
  equals(text: string): boolean {
    return timingSafeEqual(this.#digest, digestOf(text))
  }

  toString(): string {
    return redacted
  }

  toJSON(): string {
    return redacted
  }

  [inspect.custom](): string {
    return redacted
  }
}

/** In hex, which Node makes in a third of the time that it takes for bytes. */
function digestOf(text: string): Buffer {
  return Buffer.from(hash('sha256', text, 'hex'), 'latin1')
}
