import { parseExact } from '../../lib/util/exact-json.ts'
import { exceedsDepth } from '../../lib/util/json.ts'

/**
 * A copy of the value as JSON sees it, or `{"truncated":true,"size_bytes":n}` when its text is
 * larger than `maxBytes`; `size_bytes` is null when it has no JSON form. Never throws:
 * what the value accompanies must not be lost for it. `undefined` becomes null.
 */
export function boundedJson(
  value: unknown,
  bounds: { maxBytes: number; maxDepth: number },
  replace?: (key: string, value: unknown) => unknown,
): unknown {
  if (value === undefined || value === null) return null
  let text: unknown
  try {
    text = JSON.stringify(value, replace)
  } catch {
    return truncated(null)
  }
  if (typeof text !== 'string') return truncated(null)
  const bytes = Buffer.byteLength(text)
  if (bytes > bounds.maxBytes || exceedsDepth(text, bounds.maxDepth)) return truncated(bytes)
  return parseExact(text)
}

function truncated(bytes: number | null): object {
  return Object.freeze({ truncated: true, size_bytes: bytes })
}

interface CutText {
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
