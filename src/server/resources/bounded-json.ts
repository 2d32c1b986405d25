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
  return JSON.parse(text)
}

function truncated(bytes: number | null): object {
  return Object.freeze({ truncated: true, size_bytes: bytes })
}
