import { type Result, fail, ok } from '../../lib/result.ts'

/**
 * Characters that may stand unescaped in the path of a URI (RFC 3986, `pchar`), so that an id reads
 * the same in `events://session/<id>`, in a path and in a log. Encoders that escape `:`, `@` and `+`
 * all the same are understood. No slash, so nothing to climb with.
 */
const form = /^[A-Za-z0-9._~:@+-]{1,128}$/

/** A session id as it stands in a path, percent-decoded once. */
export function parseSessionId(segment: string): Result<string, string> {
  const detail = 'must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ : @ + -'
  try {
    const id = decodeURIComponent(segment)
    return form.test(id) && id !== '.' && id !== '..' ? ok(id) : fail(detail)
  } catch {
    return fail(detail)
  }
}
