export interface CutText {
  readonly text: string
  /** Bytes before and after the cut; equal when nothing was cut. */
  readonly originalBytes: number
  readonly bytes: number
}

/** The longest start of the text that is whole characters and at most `maxBytes` of UTF-8. */
export function cutUtf8(text: string, maxBytes: number): CutText {
  const originalBytes = Buffer.byteLength(text)
  if (originalBytes <= maxBytes) return { text, originalBytes, bytes: originalBytes }
  const buffer = Buffer.allocUnsafe(maxBytes)
  const { written } = new TextEncoder().encodeInto(text, buffer)
  // A new string: a slice would keep the whole original in memory.
  return { text: buffer.toString('utf8', 0, written), originalBytes, bytes: written }
}
