import type { Readable } from 'node:stream'

const newline = 0x0a

/** Yields the lines of a stream. Throws for one that is longer than `maxBytes`. */
export async function* recordLines(stream: Readable, maxBytes: number): AsyncGenerator<Buffer> {
  // The beginning of a line, copied: a kept chunk would keep the whole message that it came in.
  let held = Buffer.alloc(1024)
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let bytes = chunk
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline)) {
      yield Buffer.concat([held.subarray(0, length), bytes.subarray(0, end)])
      bytes = bytes.subarray(end + 1)
      length = 0
    }
    const needed = length + bytes.length
    if (needed > maxBytes) throw new Error(`its record is larger than ${maxBytes} bytes`)
    if (needed > held.length) held = Buffer.concat([held.subarray(0, length)], 2 * needed)
    length += bytes.copy(held, length)
  }
}
