import { isLoopback } from '../util/address.ts'
import { requireBaseUrl, requireUri, withoutTrailingSlashes } from './checked-members.ts'

/** Where the metadata document of an OAuth client is served, below the address of its host. */
export const clientMetadataPath = '/.well-known/oauth-client-metadata'

/**
 * The `client_id` of a document served below `publicUrl`: its own https URL, as client ID metadata
 * documents require. Null when no provider could fetch it there: no address known, plain http, or
 * an address of this machine. Throws `TypeError` for a text that is no http or https URL.
 */
export function clientIdAt(publicUrl: string | null): string | null {
  if (publicUrl === null) return null
  // Providers compare it letter by letter, so it is written as a URL parser writes it.
  const { protocol, hostname, origin, pathname } = new URL(requireBaseUrl(publicUrl, 'publicUrl'))
  if (protocol !== 'https:' || isLoopback(hostname)) return null
  return origin + withoutTrailingSlashes(pathname) + clientMetadataPath
}

/**
 * `value` itself; throws `TypeError` for what providers do not take as the URL of a document: it is
 * https with a path, without `.` or `..` in it, without user name and fragment.
 */
export function requireClientId(value: unknown, member: string): string {
  const text = requireUri(value, member)
  const { protocol, pathname, username, password } = new URL(text)
  const dots = /\/\.{1,2}(?=[/?]|$)/.test(text)
  if (protocol === 'https:' && pathname !== '/' && username + password === '' && !dots) return text
  throw new TypeError(`${member} must be the https URL of the document, with a path`)
}
