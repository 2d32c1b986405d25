import { parseExact } from '../../lib/util/exact-json.ts'
import { exceedsDepth, maxJsonDepth } from '../../lib/util/json.ts'

/**
 * A copy of the value as JSON sees it, or `{"truncated":true,"size_bytes":n}` when its text is
 * larger than `maxBytes` or nests too deep; `size_bytes` is null when it has no JSON form. Never throws:
 * what the value accompanies must not be lost for it. `undefined` becomes null.
 */
export function boundedJson(
  value: unknown,
  maxBytes: number,
  replace?: (key: string, value: unknown) => unknown,
): unknown {
  let text: string | undefined
  try {
    text = JSON.stringify(value ?? null, replace)
  } catch {
    // It refers to itself: the same as a value without a JSON form.
  }
  const bytes = text === undefined ? null : Buffer.byteLength(text)
  const isTooLarge = bytes === null || bytes > maxBytes
  if (text !== undefined && !isTooLarge && !exceedsDepth(text, maxJsonDepth))
    return parseExact(text)
  return Object.freeze({ truncated: true, size_bytes: bytes })
}
