import './exact-json.ts'
import { fail, ok, type Result } from './result.ts'

/** Arrays and objects inside each other, in anything parsed. */
export const maxJsonDepth = 64

export type JsonObject = { readonly [key: string]: unknown }

export function isJsonObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
  )
}

/** The value when it is an array, else an empty one. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/**
 * Whether the text opens more than `maxDepth` arrays and objects inside each other.
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

/** Where the string ends whose first character, behind its quote, is at `from`. */
export function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes++
    if (slashes % 2 === 0) return end
  }
  return text.length
}

/**
 * Parses untrusted JSON; nesting beyond `maxDepth` is refused before parsing. `parse` is
 * `parseExact` for values that are written again.
 */
export function parseJson(
  text: string,
  maxDepth: number,
  parse: (text: string) => unknown = JSON.parse,
): Result<unknown, 'syntax' | 'depth'> {
  if (exceedsDepth(text, maxDepth)) return fail('depth')
  try {
    return ok(parse(text))
  } catch {
    return fail('syntax')
  }
}

/** Escapes of surrogates: a pair, half of one, or another escape, which is skipped whole. */
const escapes =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)/g

/** The JSON text with U+FFFD in place of each half of a surrogate pair, escaped or not. */
export function wellFormedJson(json: string): string {
  const text = json.toWellFormed()
  if (!text.includes('\\ud') && !text.includes('\\uD')) return text
  return text.replace(escapes, (escape, half) => (half === undefined ? escape : '\\ufffd'))
}

/** A member's name as one part of a JSON pointer (RFC 6901, section 3). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The names on the way of a JSON pointer. */
export function pointerParts(pointer: string): readonly string[] {
  const parts = pointer.split('/').slice(1)
  return parts.map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The value that the pointer leads to; else the last value on the way, which lacks the next part. */
export function resolvePointer(
  value: unknown,
  pointer: string,
): Result<unknown, { readonly parent: unknown }> {
  if (pointer === '') return ok(value)
  if (!pointer.startsWith('/')) return fail({ parent: value })
  let found = value
  for (const name of pointerParts(pointer)) {
    const isIndex = !Array.isArray(found) || /^(0|[1-9]\d{0,9})$/.test(name)
    if (typeof found !== 'object' || found === null || !isIndex || !Object.hasOwn(found, name)) {
      return fail({ parent: found })
    }
    found = (found as Readonly<Record<string, unknown>>)[name]
  }
  return ok(found)
}
