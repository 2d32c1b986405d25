import type { IncomingMessage } from 'node:http'
import type { PeerOf } from '../http/trusted-proxies.ts'
import { isIPv6 } from 'node:net'
import { isLoopback, plainAddress } from '../../lib/util/net.ts'

/** One request, as far as every part of the accounts server knows it. */
export interface Call {
  /** In the answer as `instance`, and in the log. */
  readonly requestId: string
  /** Of the client. */
  readonly address: string
  /** What the limits count the address as. */
  readonly addressKey: string
  readonly authorization: string | undefined
  /** For the access log: the id of the account, once it is known. */
  principal: string
}

export function describeCall(req: IncomingMessage, requestId: string, peerOf: PeerOf): Call {
  const address = peerOf(req)
  return {
    requestId,
    address,
    addressKey: addressKey(address),
    authorization: req.headers.authorization,
    principal: 'anonymous',
  }
}

/**
 * The address that limits count by: an IPv4 address, the /64 of an IPv6 one, which is what one
 * customer gets, or `loopback`: a local process may pick any address of 127.0.0.0/8.
 */
export function addressKey(address: string | undefined): string {
  const plain = plainAddress((address ?? '').replace(/%.*$/, ''))
  if (isLoopback(plain)) return 'loopback'
  if (!isIPv6(plain)) return plain === '' ? 'unknown' : plain
  return `${expandIPv6(plain).slice(0, 4).join(':')}::/64`
}

function expandIPv6(address: string): string[] {
  const [head = '', tail] = address.split('::')
  const left = groupsOf(head)
  const right = groupsOf(tail ?? '')
  const missing = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  return [...left, ...Array.from({ length: missing }, () => '0'), ...right]
}

/** Without leading zeros; a dotted end counts as two groups, which no /64 reaches. */
function groupsOf(part: string): string[] {
  if (part === '') return []
  return part
    .split(':')
    .flatMap(group => (group.includes('.') ? ['0', '0'] : [group.replace(/^0+(?=.)/, '')]))
}
