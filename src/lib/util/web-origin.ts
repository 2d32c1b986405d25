/**
 * The origin as browsers write it in the `Origin` header (lower case, no default port), or null for
 * what is none: `scheme://host`, `scheme://host:port`.
 */
export function parseOrigin(text: string): string | null {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*\\]+$/i.test(text) || !URL.canParse(text)) return null
  const url = new URL(text)
  if (url.origin !== 'null') return url.origin
  // Schemes that the URL standard does not know (extensions of browsers) have their host alone.
  return url.host === '' ? null : `${url.protocol}//${url.host}`.toLowerCase()
}
