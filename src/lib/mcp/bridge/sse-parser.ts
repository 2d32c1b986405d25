export type SseEvent =
  | { readonly kind: 'message'; readonly data: Buffer }
  /** An event over the limit; its data are dropped. */
  | { readonly kind: 'oversize' }
  /** The reconnection time requested by the server. */
  | { readonly kind: 'retry'; readonly delayMs: number }

const cr = 0x0d
const lf = 0x0a
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Parses server-sent events from chunks (HTML standard, "Parsing an event stream"). Only events of
 * the default type carry messages. Ignores ids: streams are not resumed.
 */
export class SseParser {
  readonly #maxBytes: number
  #line: Buffer[] = []
  #lineBytes = 0
  #afterCr = false
  #begun = false
  #data: Buffer[] = []
  #dataBytes = 0
  #oversize = false
  #type = ''

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes of the incomplete event. */
  get held(): number {
    return this.#oversize ? 0 : this.#lineBytes + this.#dataBytes
  }

  /** Drops the incomplete event. */
  dropEvent(): void {
    this.#oversize = true
    this.#line = []
    this.#data = []
  }

  push(chunk: Buffer): SseEvent[] {
    const events: SseEvent[] = []
    let from = 0
    // The LF of a CRLF that was split between chunks.
    if (this.#afterCr && chunk[0] === lf) from = 1
    if (chunk.length > 0) this.#afterCr = false
    for (let end = lineEnd(chunk, from); end !== -1; end = lineEnd(chunk, from)) {
      this.#take(chunk.subarray(from, end))
      this.#finishLine(events)
      if (chunk[end] === cr) {
        if (end + 1 === chunk.length) this.#afterCr = true
        else if (chunk[end + 1] === lf) end++
      }
      from = end + 1
    }
    this.#take(chunk.subarray(from))
    return events
  }

  #take(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#lineBytes += bytes.length
    // The limit is for data; 64 bytes more allow for the field name.
    if (this.#lineBytes + this.#dataBytes > this.#maxBytes + 64) {
      this.dropEvent()
    }
    if (!this.#oversize) this.#line.push(bytes)
  }

  #finishLine(events: SseEvent[]): void {
    const empty = this.#lineBytes === 0
    let line = Buffer.concat(this.#line)
    this.#line = []
    this.#lineBytes = 0
    if (empty) return this.#dispatch(events)
    if (this.#oversize) return
    if (!this.#begun && line.subarray(0, 3).equals(byteOrderMark)) line = line.subarray(3)
    this.#begun = true
    this.#field(line, events)
  }

  #field(line: Buffer, events: SseEvent[]): void {
    const colon = line.indexOf(':')
    const name = line.toString('latin1', 0, colon === -1 ? line.length : Math.min(colon, 16))
    const start = colon === -1 ? line.length : line[colon + 1] === 0x20 ? colon + 2 : colon + 1
    const value = line.subarray(start)
    if (name === 'data') {
      this.#data.push(value)
      this.#dataBytes += value.length + 1
    } else if (name === 'event') {
      this.#type = value.toString('utf8', 0, 64)
    } else if (name === 'retry' && /^\d{1,9}$/.test(value.toString('latin1', 0, 16))) {
      events.push({ kind: 'retry', delayMs: Number(value.toString('latin1')) })
    }
  }

  #dispatch(events: SseEvent[]): void {
    const ofMessages = this.#type === '' || this.#type === 'message'
    if (this.#oversize) events.push({ kind: 'oversize' })
    else if (ofMessages) {
      const data = joinLines(this.#data)
      // A stream may begin with an event that has only an id.
      if (data.length > 0) events.push({ kind: 'message', data })
    }
    this.#data = []
    this.#dataBytes = 0
    this.#oversize = false
    this.#type = ''
  }
}

function lineEnd(chunk: Buffer, from: number): number {
  const atLf = chunk.indexOf(lf, from)
  const atCr = chunk.subarray(from, atLf === -1 ? chunk.length : atLf).indexOf(cr)
  return atCr === -1 ? atLf : from + atCr
}

function joinLines(lines: Buffer[]): Buffer {
  const [only] = lines
  if (only === undefined) return Buffer.alloc(0)
  if (lines.length === 1) return only
  return Buffer.concat(lines.flatMap((line, at) => (at === 0 ? [line] : [Buffer.from('\n'), line])))
}
