import { type Result, fail, ok } from '../../lib/util/result.ts'
import { isSessionId, sessionIdForm } from '../../lib/util/text.ts'

/**
 * A session id as it stands in a path, percent-decoded once: encoders that escape `:`, `@` and `+`
 * all the same are understood.
 */
export function parseSessionId(segment: string): Result<string, string> {
  const detail = `must be ${sessionIdForm}`
  try {
    const id = decodeURIComponent(segment)
    return isSessionId(id) ? ok(id) : fail(detail)
  } catch {
    return fail(detail)
  }
}
