/** A member's name as one part of a JSON pointer (RFC 6901, section 3). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
