/** One complete answer. */
export interface Answer {
  readonly status: number
  /** Status line and headers as received. */
  readonly head: string
  /** Payload bytes, without chunk framing. */
  readonly bytes: number
  /** The payload, when the parser keeps bodies; else empty. */
  readonly body: Buffer
}

const headEnd = Buffer.from('\r\n\r\n')
const lineEnd = Buffer.from('\r\n')
const none = Buffer.alloc(0)

/**
 * As much of an HTTP/1.1 client as a load generator needs: answers with a Content-Length or in
 * chunks, one after the other on one connection. Bodies are counted, not collected, unless asked.
 * What is fed may be overwritten afterwards: whatever is kept is copied.
 */
export class ResponseParser {
  keepBody = false
  readonly #onAnswer: (answer: Answer) => void
  #state: 'head' | 'body' | 'size' | 'chunk' | 'trailer' = 'head'
  #held: Buffer = none
  #head = ''
  #status = 0
  #left = 0
  #bytes = 0
  #parts: Buffer[] = []

  constructor(onAnswer: (answer: Answer) => void) {
    this.#onAnswer = onAnswer
  }

  feed(data: Buffer): void {
    let rest = this.#held.length === 0 ? data : Buffer.concat([this.#held, data])
    this.#held = none
    while (rest.length > 0) {
      const after = this.#step(rest)
      if (after === undefined) {
        this.#held = Buffer.from(rest)
        return
      }
      rest = after
    }
  }

  /** Consumes one piece and returns what follows it, or undefined when the piece is incomplete. */
  #step(data: Buffer): Buffer | undefined {
    switch (this.#state) {
      case 'head':
        return this.#readHead(data)
      case 'body':
      case 'chunk':
        return this.#readBytes(data)
      case 'size':
        return this.#readSize(data)
      case 'trailer':
        return this.#readTrailer(data)
    }
  }

  #readHead(data: Buffer): Buffer | undefined {
    const end = data.indexOf(headEnd)
    if (end === -1) return undefined
    this.#head = data.toString('latin1', 0, end)
    this.#status = Number(this.#head.slice(9, 12))
    this.#bytes = 0
    const length = /\ncontent-length: *(\d+)/i.exec(this.#head)?.[1]
    const chunked = /\ntransfer-encoding: *chunked/i.test(this.#head)
    this.#left = Number(length ?? 0)
    this.#state = chunked ? 'size' : 'body'
    if (!chunked && this.#left === 0) this.#finish()
    return data.subarray(end + headEnd.length)
  }

  #readBytes(data: Buffer): Buffer {
    const taken = Math.min(this.#left, data.length)
    this.#left -= taken
    this.#bytes += taken
    if (this.keepBody) this.#parts.push(Buffer.from(data.subarray(0, taken)))
    if (this.#left === 0) {
      if (this.#state === 'body') this.#finish()
      else this.#state = 'size'
    }
    return data.subarray(taken)
  }

  /** The line of a chunk's size, with the empty line that ends the chunk before it. */
  #readSize(data: Buffer): Buffer | undefined {
    const start = data[0] === 13 ? lineEnd.length : 0
    const end = data.indexOf(lineEnd, start)
    if (end === -1) return undefined
    this.#left = Number.parseInt(data.toString('latin1', start, end), 16)
    this.#state = this.#left === 0 ? 'trailer' : 'chunk'
    return data.subarray(end + lineEnd.length)
  }

  #readTrailer(data: Buffer): Buffer | undefined {
    const end = data.indexOf(lineEnd)
    if (end === -1) return undefined
    if (end === 0) this.#finish()
    return data.subarray(end + lineEnd.length)
  }

  #finish(): void {
    const body = this.#parts.length === 0 ? none : Buffer.concat(this.#parts)
    this.#parts = []
    this.#state = 'head'
    this.#onAnswer({ status: this.#status, head: this.#head, bytes: this.#bytes, body })
  }
}
