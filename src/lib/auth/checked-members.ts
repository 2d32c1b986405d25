// Checks at run time: options may come from JavaScript or a file.

/** Returns `value`; throws `TypeError` unless it is non-blank text. */
export function requireText(value: unknown, member: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new TypeError(`${member} must be a non-empty string`)
}

/** Returns `value`, or null for null, undefined and empty text; else throws `TypeError`. */
export function optionalText(value: unknown, member: string): string | null {
  return value === undefined || value === null || value === '' ? null : requireText(value, member)
}

/** Returns a frozen copy with every item checked; throws `TypeError` unless it is an array. */
export function requireList(
  value: unknown,
  member: string,
  check: (item: unknown, member: string) => string = requireText,
): readonly string[] {
  if (!Array.isArray(value)) throw new TypeError(`${member} must be an array of strings`)
  return Object.freeze(Array.from(value, (item, index) => check(item, `${member}[${index}]`)))
}

/** URL parsers drop or rewrite these characters, which would break exact comparison. */
const notInUri = /[\s\u0000-\u001f\u007f-\u009f\\]/

/**
 * Returns `value`; throws `TypeError` unless it is an absolute URI without fragment (RFC 6749,
 * 3.1.2).
 */
export function requireUri(value: unknown, member: string): string {
  const text = requireText(value, member)
  if (!notInUri.test(text) && !text.includes('#') && URL.canParse(text)) return text
  throw new TypeError(`${member} must be an absolute URI without spaces or fragment`)
}

/** Schemes that run code, embed content or name a local file. */
const unsafeSchemes = ['javascript', 'vbscript', 'data', 'blob', 'filesystem', 'file', 'about']

/**
 * Returns `value`, a URI that a browser may open: https, http or the scheme of an application.
 * Throws `TypeError` for schemes such as `javascript` and `data`, and like `requireUri`.
 */
export function requireNavigableUri(value: unknown, member: string): string {
  const text = requireUri(value, member)
  const scheme = new URL(text).protocol.slice(0, -1)
  if (!unsafeSchemes.includes(scheme)) return text
  throw new TypeError(`${member} must not have the scheme "${scheme}"`)
}

/**
 * Returns `value`, an http or https URL to which paths can be appended. Throws `TypeError`, without
 * repeating the value, for another scheme, a user name, password, query or fragment.
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

/** Strips trailing slashes, so that a path can be appended. */
export function withoutTrailingSlashes(url: string): string {
  let end = url.length
  while (url[end - 1] === '/') end--
  return url.slice(0, end)
}
