import { fail, ok, type Result } from './result.ts'

/** A member's name as one part of a JSON pointer (RFC 6901, section 3). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The value that the pointer leads to; else the last value on the way, which lacks the next part. */
export function resolvePointer(
  value: unknown,
  pointer: string,
): Result<unknown, { readonly parent: unknown }> {
  if (pointer === '') return ok(value)
  if (!pointer.startsWith('/')) return fail({ parent: value })
  let found = value
  for (const part of pointer.slice(1).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    const isIndex = !Array.isArray(found) || /^(0|[1-9]\d{0,9})$/.test(name)
    if (typeof found !== 'object' || found === null || !isIndex || !Object.hasOwn(found, name)) {
      return fail({ parent: found })
    }
    found = (found as Readonly<Record<string, unknown>>)[name]
  }
  return ok(found)
}
