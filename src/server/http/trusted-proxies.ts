import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { isInNetwork, isLoopback, parseNetwork, plainAddress } from '../../lib/util/net.ts'

/** Tells who sent a request, from the address of the connection and the headers. */
export type PeerOf = (req: {
  socket: { remoteAddress?: string }
  headers: IncomingHttpHeaders
}) => string

/** Trusts no proxy. */
export const peerOfConnection: PeerOf = ({ socket }) => socket.remoteAddress ?? 'unknown'

/**
 * Believes `X-Forwarded-For` when the connection comes from a trusted proxy, and then only as far
 * as the proxies go: each appends the address that it sees, so the last one that is no trusted
 * proxy is the client, and whatever stands before it may be made up. No other header is believed.
 * `proxies` are addresses, or networks as in `10.0.0.0/8`. Throws `TypeError` for any other text.
 */
export function createPeerOf(proxies: readonly string[]): PeerOf {
  if (proxies.length === 0) return peerOfConnection
  const isTrusted = createTrust(proxies)
  return req => {
    const { remoteAddress } = req.socket
    const forwarded = req.headers['x-forwarded-for']
    if (remoteAddress === undefined || forwarded === undefined || !isTrusted(remoteAddress)) {
      return remoteAddress ?? 'unknown'
    }
    let nearest = remoteAddress
    for (const entry of String(forwarded).split(',').toReversed()) {
      const address = addressOf(entry.trim())
      // The entries before it came through a proxy that writes no addresses.
      if (address === null) return nearest
      nearest = address
      if (!isTrusted(address)) return address
    }
    return nearest
  }
}

function createTrust(proxies: readonly string[]): (address: string) => boolean {
  const networks = proxies.map(text => {
    const network = parseNetwork(text)
    if (network !== null) return network
    throw new TypeError(`a trusted proxy is an address or a network such as 10.0.0.0/8: ${text}`)
  })
  return address => networks.some(network => isInNetwork(network, withoutZone(address)))
}

/** The address in one entry, without a port; null for `unknown` and other words. */
function addressOf(entry: string): string | null {
  const bare = entry.startsWith('[')
    ? entry.slice(1, Math.max(1, entry.indexOf(']')))
    : entry.replace(/^([^:]+):\d+$/, '$1')
  return isIP(bare) === 0 ? null : withoutZone(bare)
}

function withoutZone(address: string): string {
  return plainAddress(address.replace(/%.*$/, ''))
}

const forwarding = new Set(['forwarded', 'via', 'x-real-ip'])

/**
 * The name of a header that only a proxy writes; null when there is none. Such a request comes from
 * somewhere else than its connection does.
 */
export function findForwardingHeader(headers: IncomingHttpHeaders): string | null {
  for (const name in headers) {
    if (forwarding.has(name) || name.startsWith('x-forwarded-')) return name
  }
  return null
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
