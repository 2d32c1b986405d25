import { isIP } from 'node:net'

/**
 * Whether only this machine reaches `host`, in the brackets of a URL or without. False for names
 * but `localhost`: they are not looked up.
 */
export function isLoopback(host: string): boolean {
  const plain = plainAddress(withoutBrackets(host))
  if (isIP(plain) === 4) return plain.startsWith('127.')
  return plain === 'localhost' || plain === '::1'
}

/** Whether a server bound to `host` listens on every address of the machine. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** An IPv6 address as it is without the brackets that it has in a URL; any other host as it is. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

/** The address of a server bound to `host`, for a client on the same machine. */
export function localBase(host: string, port: number, scheme: 'http' | 'https' = 'http'): string {
  if (isWildcard(host)) return `${scheme}://127.0.0.1:${port}`
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * Whether the connection comes from this machine. A peer with the address that it reached is on
 * this machine: no packet from outside can carry that address.
 */
export function isLocalPeer(
  remoteAddress: string | undefined,
  localAddress: string | undefined,
): boolean {
  if (remoteAddress === undefined || remoteAddress === '') return false
  if (isLoopback(remoteAddress)) return true
  return plainAddress(remoteAddress) === plainAddress(localAddress ?? '')
}

/** An address as a socket tells it: IPv4 inside IPv6 as IPv4. */
export function plainAddress(address: string): string {
  return address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
}

interface Network {
  readonly address: string
  /** So many bits at its beginning are those of every address of the network. */
  readonly bits: number
}

/** `10.0.0.0/8`, or one address; null for any other text, and for the network that is everything. */
export function parseNetwork(text: string): Network | null {
  const [written = '', prefix, ...more] = text.split('/')
  const address = withoutBrackets(written)
  const version = isIP(address)
  if (version === 0 || address.includes('%') || more.length > 0) return null
  const most = version === 4 ? 32 : 128
  if (prefix === undefined) return { address, bits: most }
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : 0
  return bits > 0 && bits <= most ? { address, bits } : null
}

/**
 * Parses an origin, `scheme://host` or `scheme://host:port`. Returns it as browsers write it in the
 * `Origin` header (lower case, no default port), or null when it is invalid.
 */
export function parseOrigin(text: string): string | null {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*\\]+$/i.test(text) || !URL.canParse(text)) return null
  const url = new URL(text)
  if (url.origin !== 'null') return url.origin
  // Schemes that the URL standard does not know (extensions of browsers) have their host alone.
  return url.host === '' ? null : `${url.protocol}//${url.host}`.toLowerCase()
}
