import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { parseOrigin, plainAddress } from '../../lib/util/net.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import type { RequestTarget } from './request-target.ts'

/** A request that is not served, and why: the value it sent and the flag that would allow it. */
export interface Refusal {
  readonly status: 400 | 403
  readonly reason:
    | 'duplicate_header'
    | 'encoding_unknown'
    | 'target_malformed'
    | 'host_missing'
    | 'host_malformed'
    | 'host_not_allowed'
    | 'origin_not_allowed'
  readonly message: string
}

const single = new Set([
  'host',
  'origin',
  'authorization',
  'content-type',
  'content-length',
  'mcp-session-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
])

/**
 * Most headers are none of these: their length and first letter tell, without a copy of the name.
 */
const singleMarks = new Set([...single].map(markOf))

function markOf(name: string): number {
  return (name.length << 8) | (name.charCodeAt(0) | 0x20)
}

/**
 * Names a header that was sent twice although it decides something. Node keeps the first or joins
 * them, a proxy in front may keep the last: two readers of one request must not disagree.
 */
export function findDuplicateHeader(rawHeaders: string[]): string | null {
  let seen: string[] | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const written = rawHeaders[at] ?? ''
    if (!singleMarks.has(markOf(written))) continue
    const name = written.toLowerCase()
    if (!single.has(name)) continue
    if (seen === undefined) seen = [name]
    else if (seen.includes(name)) return name
    else seen.push(name)
  }
  return null
}

/**
 * What every request must pass, for any path. A request with the whole address in its
 * first line goes on with the path alone.
 */
export function checkRequest(
  req: IncomingMessage,
  target: RequestTarget | null,
  guard: Guard,
): Refusal | null {
  if (target === null) {
    const message =
      'the request target must be an http address or a path, without "..", "\\" or "#" in the path'
    return { status: 400, reason: 'target_malformed', message }
  }
  const duplicate = findDuplicateHeader(req.rawHeaders)
  if (duplicate !== null) {
    const message = `header "${duplicate}" was sent more than once`
    return { status: 400, reason: 'duplicate_header', message }
  }
  if (hasUnknownEncoding(req.headers['transfer-encoding'])) {
    const message = 'Transfer-Encoding must be "chunked" alone'
    return { status: 400, reason: 'encoding_unknown', message }
  }
  const { localAddress } = req.socket
  const verdict = guard(req.headers, localAddress)
  if (!verdict.ok) return verdict.failure
  if (target.authority === undefined) return null
  const named = guard({ host: target.authority }, localAddress)
  if (!named.ok) return named.failure
  req.url = target.url
  return null
}

/** Nothing here undoes another encoding: its bytes would be taken for what they are not. */
function hasUnknownEncoding(transferEncoding: string | undefined): boolean {
  return transferEncoding !== undefined && transferEncoding.toLowerCase() !== 'chunked'
}

export function refusalError({ status, message }: Refusal): ServiceError {
  return new ServiceError(status === 403 ? 'request_refused' : 'body_invalid', message)
}

interface OriginRules {
  /** The server's own names, the bound address and that of `--public-url`: for Host and Origin. */
  readonly own: readonly string[]
  /** Further names that a Host header may carry. */
  readonly hosts: readonly string[]
  /** Whole origins, `https://studio.example`. */
  readonly origins: readonly string[]
}

/** `localAddress` is the one the client reached: a name of the server when it is bound to all. */
export type Guard = (
  headers: { host?: string; origin?: string },
  localAddress?: string,
) => Result<null, Refusal>

const accepted = ok(null)
const loopbackNames = ['localhost', '127.0.0.1', '[::1]']
const wildcards = ['0.0.0.0', '[::]']

/**
 * Checks Host and Origin: what keeps a web page, or a name pointed at 127.0.0.1, away from a
 * server on this machine. Ports do not matter: the page of another port is another user's choice
 * to run. Of a name that only the Host header may carry, the pages of the server itself are accepted.
 * A missing Origin is fine, browsers send one where it matters.
 */
export function createGuard(rules: OriginRules): Guard {
  const own = new Set([...loopbackNames, ...rules.own.map(normaliseHost)])
  // They stand for every address, and name none.
  const boundToAll = wildcards.filter(name => own.delete(name)).length > 0
  const hosts = new Set([...own, ...rules.hosts.map(normaliseHost)])
  const origins = new Set(rules.origins.map(origin => parseOrigin(origin) ?? origin.toLowerCase()))
  // Nearly every request of a connection carries the same Host: remember the last good one.
  let lastGood: string | undefined
  return ({ host, origin }, localAddress) => {
    if (host === undefined || host === '') {
      return fail({ status: 400, reason: 'host_missing', message: 'the Host header is missing' })
    }
    if (host !== lastGood) {
      const name = hostName(host)
      if (!isPort(host.slice(name.length))) {
        const message = `host "${printable(host)}" is not a name with at most a port behind it`
        return fail({ status: 400, reason: 'host_malformed', message })
      }
      const isReached = boundToAll && name === addressAsHost(localAddress)
      if (!hosts.has(name) && !isReached) {
        return fail({
          status: 403,
          reason: 'host_not_allowed',
          message: `host "${printable(host)}" is not allowed; allow it with --allowed-host ${printable(name)}`,
        })
      }
      if (hosts.has(name)) lastGood = host
    }
    if (
      origin !== undefined &&
      !originAllowed(origin, own, origins) &&
      !isSameOrigin(origin, host)
    ) {
      return fail({
        status: 403,
        reason: 'origin_not_allowed',
        message: `origin "${printable(origin)}" is not allowed; allow it with --allowed-origin ${printable(origin)}`,
      })
    }
    return accepted
  }
}

function originAllowed(origin: string, own: Set<string>, origins: Set<string>): boolean {
  const written = origin.toLowerCase()
  if (origins.has(written)) return true
  if (!URL.canParse(written)) return false
  const url = new URL(written)
  return (url.protocol === 'http:' || url.protocol === 'https:') && own.has(url.hostname)
}

/** Whether the origin is that of the server itself, by the Host header of the request. */
export function isSameOrigin(origin: string, host: string): boolean {
  const parsed = parseOrigin(origin)
  if (parsed === null || !/^https?:/.test(parsed)) return false
  const own = `${parsed.slice(0, parsed.indexOf(':'))}://${host}`
  return URL.canParse(own) && new URL(own).origin === parsed
}

/** What follows the name: nothing, or `:8765`. */
function isPort(rest: string): boolean {
  return rest === '' || (/^:\d{1,5}$/.test(rest) && Number(rest.slice(1)) <= 65_535)
}

/** The name in a Host header: lower case, port removed, brackets of an IPv6 address kept. */
export function hostName(header: string): string {
  const value = header.toLowerCase()
  const end = value.startsWith('[') ? value.indexOf(']') + 1 : value.indexOf(':')
  return end > 0 ? value.slice(0, end) : value
}

function normaliseHost(host: string): string {
  return isIP(host) === 6 ? `[${host.toLowerCase()}]` : hostName(host)
}

function addressAsHost(address: string | undefined): string | undefined {
  if (address === undefined) return undefined
  const plain = plainAddress(address)
  return isIP(plain) === 6 ? `[${plain}]` : plain
}

/** A refused value, safe to show in an answer and in the log: short, and no control bytes. */
function printable(value: string): string {
  const clean = value.replace(/[^\x21-\x7e]/g, '?')
  return clean.length > 100 ? `${clean.slice(0, 100)}…` : clean
}
