/** What a program hands to the objects of this folder may come from JavaScript or a file. */

/** `value` itself; throws `TypeError` for anything but a text with something in it. */
export function requireText(value: unknown, member: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new TypeError(`${member} must be a text that is not empty`)
}

/** `value` itself; null for null, undefined and the empty text. Throws `TypeError` for the rest. */
export function optionalText(value: unknown, member: string): string | null {
  return value === undefined || value === null || value === '' ? null : requireText(value, member)
}

/** A frozen copy of `value`, each item checked; throws `TypeError` for what is no array. */
export function requireList(
  value: unknown,
  member: string,
  check: (item: unknown, member: string) => string = requireText,
): readonly string[] {
  if (!Array.isArray(value)) throw new TypeError(`${member} must be an array of texts`)
  return Object.freeze(Array.from(value, (item, index) => check(item, `${member}[${index}]`)))
}

/** A URL parser drops or rewrites these, so that two sides would compare different texts. */
const notInUri = /[\s\u0000-\u001f\u007f-\u009f\\]/

/** `value` itself; throws `TypeError` for what is no absolute URI, or has a fragment (RFC 6749, 3.1.2). */
export function requireUri(value: unknown, member: string): string {
  const text = requireText(value, member)
  if (!notInUri.test(text) && !text.includes('#') && URL.canParse(text)) return text
  throw new TypeError(`${member} must be an absolute URI without spaces and without a fragment`)
}

/** URIs that run code, carry their own content or name a local file. */
const unsafeSchemes = ['javascript', 'vbscript', 'data', 'blob', 'filesystem', 'file', 'about']

/**
 * `value` itself: a URI that a browser may be sent to, https, http or the scheme of an application.
 * Throws `TypeError` for schemes such as `javascript` and `data`, and as `requireUri`.
 */
export function requireNavigableUri(value: unknown, member: string): string {
  const text = requireUri(value, member)
  const scheme = new URL(text).protocol.slice(0, -1)
  if (!unsafeSchemes.includes(scheme)) return text
  throw new TypeError(`${member} must not have the scheme "${scheme}"`)
}

/**
 * `value` itself: an http or https URL that paths can be appended to. Throws `TypeError` for any
 * other scheme, for user name, password, query or fragment. The message never repeats the value.
 */
export function requireBaseUrl(value: unknown, member: string): string {
  const text = requireUri(value, member)
  const { username, password } = new URL(text)
  if (/^https?:\/\/[^/]/i.test(text) && username + password === '' && !text.includes('?')) {
    return text
  }
  throw new TypeError(
    `${member} must begin with https:// or http:// and have no user name, password or query`,
  )
}

/** Paths begin with a slash: one at the end of the base would be one too many. */
export function withoutTrailingSlashes(url: string): string {
  let end = url.length
  while (url[end - 1] === '/') end--
  return url.slice(0, end)
}
