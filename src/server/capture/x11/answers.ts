import { answerBytes, genericEvent, replyKind } from './wire.ts'
import { setupBytes } from './setup.ts'

/** A whole message of the server. */
export type Answer =
  | { readonly kind: 'setup'; readonly bytes: Buffer }
  | { readonly kind: 'reply'; readonly sequence: number; readonly bytes: Buffer }
  | { readonly kind: 'error'; readonly sequence: number; readonly code: number }

/** What the server sends is longer than anything that was asked for. */
export class AnswerTooLong extends Error {}

/**
 * Splits the incoming bytes into answers. A picture is some megabytes: its bytes are copied once,
 * into the buffer that is returned. Events are dropped.
 */
export class AnswerReader {
  readonly #maxBytes: number
  #head = Buffer.alloc(8)
  #filled = 0
  #setupDone = false
  /** The answer that is arriving, once its length is known. */
  #body: Buffer | null = null

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  *read(chunk: Buffer): Generator<Answer> {
    let at = 0
    while (at < chunk.length) {
      const into = this.#body ?? this.#head
      const copied = chunk.copy(into, this.#filled, at)
      at += copied
      this.#filled += copied
      if (this.#filled < into.length) return
      if (this.#body === null) this.#begin()
      if (this.#body !== null && this.#filled === this.#body.length) {
        const answer = this.#take(this.#body)
        if (answer !== null) yield answer
      }
    }
  }

  /** The length of an answer is known as soon as its first 8 bytes are there. */
  #begin(): void {
    const length = this.#setupDone ? lengthOf(this.#head) : setupBytes(this.#head)
    if (length > this.#maxBytes) throw new AnswerTooLong(`an answer of ${length} bytes`)
    // Not from the shared pool, so that it can be transferred to another thread.
    this.#body = Buffer.allocUnsafeSlow(length)
    this.#head.copy(this.#body)
  }

  #take(bytes: Buffer): Answer | null {
    this.#body = null
    this.#filled = 0
    if (!this.#setupDone) {
      this.#setupDone = true
      return { kind: 'setup', bytes }
    }
    const kind = bytes.readUInt8(0)
    const sequence = bytes.readUInt16LE(2)
    if (kind === replyKind) return { kind: 'reply', sequence, bytes }
    return kind === 0 ? { kind: 'error', sequence, code: bytes.readUInt8(1) } : null
  }
}

function lengthOf(head: Buffer): number {
  const kind = head.readUInt8(0)
  const more = kind === replyKind || (kind & 0x7f) === genericEvent
  return answerBytes + (more ? head.readUInt32LE(4) * 4 : 0)
}
