import { ServiceError } from '../../../lib/util/errors.ts'

const quote = 0x22
const backslash = 0x5c
const openObject = 0x7b
const closeObject = 0x7d
const openList = 0x5b
const closeList = 0x5d
const comma = 0x2c
const colon = 0x3a

/** Bytes of the pieces of an answer that end before its contents, or after them. */
const maxFrameBytes = 256 * 1024
/** Bytes of a name or an address that is looked at. */
const maxTextBytes = 16 * 1024
const maxDepth = 64
/** A string that means what it says: printable ASCII without escapes. */
const plain = /^[\x20-\x5b\x5d-\x7e]*$/

interface ScannerParts {
  /** The answer must be to this request. */
  readonly id: string
  /** What a URI in the contents becomes; `isOwn`: it is that of the first of them. */
  readonly rename: (uri: string, isOwn: boolean) => string
}

/**
 * Finds the array `result.contents` in a JSON-RPC answer that arrives in pieces, and gives it on
 * with other URIs. Only brackets and strings are looked at: nothing is parsed as a whole, and
 * nothing is kept.
 */
export class ContentsScanner {
  readonly #parts: ScannerParts
  readonly #stack: number[] = []
  #phase: 'before' | 'inside' | 'after' = 'before'
  #hasId = false
  #isError = false
  #frameBytes = 0
  #index = -1
  /** In an object: the next string is a name. */
  #isName = false
  #name = ''
  #inResult = false
  /** The string that is being read: kept when it matters. */
  #string: 'none' | 'skipped' | 'kept' = 'none'
  #isEscaped = false
  /** One character for each byte. */
  #kept = ''
  #keptBytes = 0

  constructor(parts: ScannerParts) {
    this.#parts = parts
  }

  /** The answer is an error: it has no contents. */
  get isError(): boolean {
    return this.#isError
  }

  /**
   * Adds the bytes of the contents in this piece of the answer to `found`. True: the contents have
   * begun. Throws for an unusable answer.
   */
  push(chunk: Buffer, found: Buffer[]): boolean {
    let from = this.#phase === 'inside' && !this.#isWithheld ? 0 : -1
    /** Gives on what came since `from`. */
    const flush = (to: number): void => {
      if (from !== -1 && to > from) found.push(chunk.subarray(from, to))
      from = -1
    }
    let at = 0
    while (at < chunk.length) {
      if (this.#string !== 'none') {
        const end = this.#endOfString(chunk, at)
        if (this.#string === 'kept') this.#keep(chunk, at, end)
        at = end + 1
        if (end === chunk.length) break
        const written = this.#closeString()
        if (written !== null) {
          found.push(written)
          from = at
        }
        continue
      }
      const byte = chunk[at]
      if (byte === quote) {
        this.#openString()
        if (this.#isWithheld) flush(at)
      } else if (byte === openObject || byte === openList) {
        if (this.#open(byte)) from = at
      } else if (byte === closeObject || byte === closeList) {
        if (this.#close(byte)) flush(at + 1)
      } else if (byte === comma) this.#isName = this.#stack.at(-1) === openObject
      else if (byte === colon) this.#isName = false
      at++
    }
    if (this.#phase !== 'inside') this.#countFrame(chunk.length)
    flush(chunk.length)
    return this.#phase !== 'before'
  }

  /** The answer has ended. Throws when it was not whole. */
  end(): void {
    const isWhole = this.#phase === 'after' && this.#stack.length === 0 && this.#hasId
    if (!isWhole) throw badAnswer('it is not whole')
  }

  #countFrame(bytes: number): void {
    this.#frameBytes += bytes
    if (this.#frameBytes > maxFrameBytes) throw badAnswer('it has too much around its contents')
  }

  /** True: the contents begin here. */
  #open(bracket: number): boolean {
    const depth = this.#stack.length
    if (depth >= maxDepth) throw badAnswer('it is nested too deep')
    const name = this.#name
    this.#name = ''
    this.#stack.push(bracket)
    this.#isName = bracket === openObject
    if (this.#phase === 'inside') {
      if (depth === 3) this.#index++
      return false
    }
    if (depth === 1) {
      this.#inResult = name === 'result' && bracket === openObject
      this.#isError ||= name === 'error'
    }
    if (depth !== 2 || !this.#inResult || name !== 'contents') return false
    if (bracket !== openList || this.#phase === 'after') throw badAnswer('it has no contents')
    this.#phase = 'inside'
    return true
  }

  /** True: the contents end here. */
  #close(bracket: number): boolean {
    const opened = this.#stack.pop()
    if (opened !== (bracket === closeObject ? openObject : openList)) {
      throw badAnswer('its brackets do not match')
    }
    this.#name = ''
    this.#isName = false
    if (this.#phase !== 'inside' || this.#stack.length !== 2) return false
    this.#phase = 'after'
    return true
  }

  #openString(): void {
    const isId = this.#stack.length === 1 && this.#name === 'id'
    this.#string = this.#isName || isId || this.#isUri ? 'kept' : 'skipped'
  }

  /** A URI is given on when it was renamed. */
  get #isWithheld(): boolean {
    return this.#string === 'kept' && this.#phase === 'inside' && !this.#isName
  }

  /** Whether the value that begins here is to be renamed. */
  get #isUri(): boolean {
    return this.#phase === 'inside' && this.#name === 'uri' && this.#stack.length === 4
  }

  /** Where the string ends; the length of the chunk when it does not end there. */
  #endOfString(chunk: Buffer, from: number): number {
    let at = from
    if (this.#isEscaped) {
      this.#isEscaped = false
      at++
    } else {
      // Texts without escapes, such as base64, are skipped at once.
      const end = chunk.indexOf(quote, at)
      const until = end === -1 ? chunk.length : end
      if (!chunk.subarray(at, until).includes(backslash)) return until
    }
    while (at < chunk.length) {
      const byte = chunk[at]
      if (byte === quote) return at
      at += byte === backslash ? 2 : 1
    }
    this.#isEscaped = at > chunk.length
    return chunk.length
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    this.#keptBytes += to - from
    if (this.#keptBytes > maxTextBytes) throw badAnswer('it has a name or an address without end')
    this.#kept += chunk.toString('latin1', from, to)
  }

  /** The string in its other spelling, quotes included; null: it stays as it is. */
  #closeString(): Buffer | null {
    const isKept = this.#string === 'kept'
    this.#string = 'none'
    if (!isKept) return null
    const text = this.#keptText()
    if (this.#isName) {
      this.#name = text
      return null
    }
    if (this.#phase !== 'inside') {
      if (text !== this.#parts.id) throw badAnswer('it is to another request')
      this.#hasId = true
      return null
    }
    const isOwn = this.#index === 0 && this.#name === 'uri'
    return Buffer.from(JSON.stringify(this.#parts.rename(text, isOwn)))
  }

  #keptText(): string {
    const kept = this.#kept
    this.#kept = ''
    this.#keptBytes = 0
    if (plain.test(kept)) return kept
    try {
      return String(JSON.parse(`"${Buffer.from(kept, 'latin1').toString()}"`))
    } catch {
      throw badAnswer('it is not JSON')
    }
  }
}

export function badAnswer(problem: string): ServiceError {
  return new ServiceError('resource_failed', `the answer of the instance is unusable: ${problem}`, {
    data: { reason: 'instance_answer_invalid' },
  })
}
