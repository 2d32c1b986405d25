import { type Result, fail, ok } from './result.ts'

export type JsonObject = { readonly [key: string]: unknown }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Does the text open more than `maxDepth` arrays and objects inside each other?
 * A scan of the text, so that a hostile nesting is refused before anything is built from it.
 */
export function exceedsDepth(text: string, maxDepth: number): boolean {
  // A text this short cannot nest that deep.
  if (text.length <= maxDepth) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // a string: skip to its closing quote
        at = endOfString(text, at + 1)
        break
      case 0x5b:
      case 0x7b:
        if (++depth > maxDepth) return true
        break
      case 0x5d:
      case 0x7d:
        depth--
        break
    }
  }
  return false
}

function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes++
    if (slashes % 2 === 0) return end
  }
  return text.length
}

type JsonFailure = 'syntax' | 'depth'

/** Parses untrusted JSON; nesting beyond `maxDepth` is refused before parsing. */
export function parseJson(text: string, maxDepth: number): Result<unknown, JsonFailure> {
  if (exceedsDepth(text, maxDepth)) return fail('depth')
  try {
    return ok(JSON.parse(text))
  } catch {
    return fail('syntax')
  }
}
