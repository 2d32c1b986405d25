/**
 * Characters that may stand unescaped in the path of a URI (RFC 3986, `pchar`), so that an id reads
 * the same in `events://session/<id>`, in a path and in a log. No slash, so nothing to climb with.
 */
const form = /^[A-Za-z0-9._~:@+-]{1,128}$/

/** What a session id is, behind "must be". */
export const sessionIdForm = '1 to 128 of the characters A-Z a-z 0-9 . _ ~ : @ + -'

export function isSessionId(value: string): boolean {
  return form.test(value) && value !== '.' && value !== '..'
}
