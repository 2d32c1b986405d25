import type { RequestId } from '../../lib/mcp/json-rpc.ts'
import { rpcCodes } from './errors.ts'
import { errorMessage, type JsonText } from './json-text.ts'

interface Admitted {
  readonly text: JsonText
  /** Called when the answer is sent or its client gone; null when nothing is held. */
  readonly release: (() => void) | null
}

/**
 * Bounds the memory of large answers that clients have not read yet. Bytes shared by several
 * answers (the scene, a cached blob) count once; small texts and streamed blobs are free.
 */
export class UnsentAnswerBudget {
  readonly #maxBytes: number
  readonly #users = new Map<Uint8Array, number>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The answer, or in its place an error that asks the client to come again. */
  admit(id: RequestId | null, text: JsonText): Admitted {
    const large = text.parts.filter(part => part instanceof Uint8Array)
    if (large.length === 0) return { text, release: null }
    const added = large.reduce((sum, part) => sum + (this.#users.has(part) ? 0 : part.length), 0)
    if (this.#bytes + added > this.#maxBytes) {
      const error = {
        code: rpcCodes.internalError,
        message: 'too many unread large answers; try again later',
        data: { reason: 'answers_waiting' },
      }
      return { text: errorMessage(id, error), release: null }
    }
    for (const part of large) this.#hold(part)
    // `splice`, so that a second call releases nothing.
    return { text, release: () => large.splice(0).forEach(part => this.#release(part)) }
  }

  #hold(part: Uint8Array): void {
    const users = this.#users.get(part) ?? 0
    if (users === 0) this.#bytes += part.length
    this.#users.set(part, users + 1)
  }

  #release(part: Uint8Array): void {
    const users = (this.#users.get(part) ?? 1) - 1
    if (users > 0) {
      this.#users.set(part, users)
      return
    }
    this.#users.delete(part)
    this.#bytes -= part.length
  }
}
