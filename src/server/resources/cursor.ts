import { type Result, fail, ok } from '../../lib/util/result.ts'

/** Where a page of the listing starts: in the fixed part, or in the artefacts behind it. */
export type ListPosition =
  | { readonly part: 'fixed'; readonly offset: number }
  | { readonly part: 'artefacts'; readonly after: string | undefined }

export const unknownCursor = 'invalid cursor; start again without one'

export function encodeCursor(position: ListPosition): string {
  const text = position.part === 'fixed' ? `f${position.offset}` : `a${position.after ?? ''}`
  return Buffer.from(text).toString('base64url')
}

/** The failure is a short text for the reader. */
export function parseCursor(cursor: unknown, maxChars: number): Result<ListPosition, string> {
  if (cursor === undefined) return ok({ part: 'fixed', offset: 0 })
  const bad = fail(unknownCursor)
  if (typeof cursor !== 'string' || cursor.length > maxChars) return bad
  const text = Buffer.from(cursor, 'base64url').toString()
  // Node decodes leniently; only what it encodes itself is a cursor.
  if (Buffer.from(text).toString('base64url') !== cursor) return bad
  if (text.startsWith('a')) {
    return ok({ part: 'artefacts', after: text === 'a' ? undefined : text.slice(1) })
  }
  return /^f\d{1,9}$/.test(text) ? ok({ part: 'fixed', offset: Number(text.slice(1)) }) : bad
}
