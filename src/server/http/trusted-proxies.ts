import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isInNetwork, isLoopback, parseNetwork, plainAddress } from '../../lib/util/net.ts'

/**
 * Tells who sent a request, from the address of the connection and the headers. Believes
 * `X-Forwarded-For` when the connection comes from a trusted proxy, and then only as far as the
 * proxies go: each appends the address that it sees, so the last one that is no trusted proxy is the
 * client, and whatever stands before it may be made up. No other header is believed.
 * `proxies` are addresses, or networks as in `10.0.0.0/8`. Throws `TypeError` for any other text.
 */
export function createPeerOf(proxies: readonly string[]) {
  const networks = proxies.map(text => {
    const network = parseNetwork(text)
    if (network !== null) return network
    throw new TypeError(`a trusted proxy is an address or a network such as 10.0.0.0/8: ${text}`)
  })
  const isTrusted = (address: string) => networks.some(network => isInNetwork(network, address))
  return (req: { socket: { remoteAddress?: string }; headers: IncomingHttpHeaders }): string => {
    const { remoteAddress = 'unknown' } = req.socket
    const forwarded = req.headers['x-forwarded-for']
    if (forwarded === undefined || networks.length === 0) return remoteAddress
    const path = [...String(forwarded).split(','), remoteAddress].toReversed()
    const addresses = path.map(entry => plainAddress(entry.trim()))
    return addresses.find(address => !isTrusted(address)) ?? remoteAddress
  }
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

/** Whether a program on this machine sent the request, and no proxy. */
export function isLocalRequest({ socket, headers }: IncomingMessage): boolean {
  const { remoteAddress, localAddress } = socket
  return isLocalPeer(remoteAddress, localAddress) && findForwardingHeader(headers) === null
}
