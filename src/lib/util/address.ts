import { isIP } from 'node:net'

/**
 * Does only this machine reach `host`, with the brackets of a URL or without? Names but `localhost`
 * are not looked up: false.
 */
export function isLoopback(host: string): boolean {
  const plain = plainAddress(withoutBrackets(host))
  if (isIP(plain) === 4) return plain.startsWith('127.')
  return plain === 'localhost' || plain === '::1'
}

/** Does a server bound to `host` listen on every address of the machine? */
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
 * Does the connection come from this machine? A peer with the very address that it reached is one
 * of its own: no packet from outside can carry that address.
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
