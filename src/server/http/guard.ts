import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { ServiceError } from '../../lib/util/errors.ts'
import { parseOrigin, plainAddress } from '../../lib/util/net.ts'
import type { ListenOptions } from './listen-options.ts'

/** Where a server is reached: what its guard and its CORS headers depend on. */
export interface Reach extends Omit<ListenOptions, 'port' | 'tls'> {
  /** Origins whose pages may call the host link, and nothing else. */
  appOrigins?: readonly string[]
}

/** A request that is not served, whatever its path; the message names the value it sent. */
export class RequestRefused extends ServiceError {
  /** Ends in `_malformed`, `_duplicate` or `_not_allowed`. */
  readonly reason: string

  constructor(reason: string, message: string) {
    super(reason.endsWith('_not_allowed') ? 'request_refused' : 'body_invalid', message)
    this.reason = reason
  }
}

/**
 * What a URL parser or the router rewrites: the segments `.` and `..`, a backslash, a fragment, and
 * percent-encoded letters, digits and `-._~`, which never need it (RFC 3986, section 2.3). A path
 * has one spelling here, so that rules of a proxy and routes of this server see the same.
 */
const rewritten = /\/\.{1,2}(?:\/|$)|[\\#]|%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/i

/**
 * Headers that decide something. Node keeps the first of two or joins them, a proxy in front may keep
 * the last: two readers of one request must not disagree.
 */
const singleHeaders = new Set([
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

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']
const wildcards = ['0.0.0.0', '[::]']

/**
 * Checks what every request must pass. Host and Origin keep a web page, or a name pointed at
 * 127.0.0.1, away from a server on this machine. Ports do not matter: the page of another port is
 * another user's choice to run. A missing Origin is fine, browsers send one where it matters.
 */
export class Guard {
  /** The server's own names, the bound address and that of `--public-url`: for Host and Origin. */
  readonly #own: Set<string>
  readonly #hosts: Set<string>
  readonly #origins: Set<string>
  readonly #appOrigins: Set<string>
  readonly #isBoundToAll: boolean

  constructor({ host, publicUrl, allowedHosts = [], allowedOrigins = [], appOrigins = [] }: Reach) {
    const named = publicUrl === undefined ? [host] : [host, new URL(publicUrl).host]
    this.#own = new Set([...loopbackNames, ...named.map(normaliseHost)])
    // They stand for every address, and name none.
    this.#isBoundToAll = wildcards.filter(name => this.#own.delete(name)).length > 0
    this.#hosts = new Set([...this.#own, ...allowedHosts.map(normaliseHost)])
    this.#origins = new Set(allowedOrigins.map(normaliseOrigin))
    this.#appOrigins = new Set(appOrigins)
  }

  /** Why the request is not served; null when it is. */
  check(req: IncomingMessage): RequestRefused | null {
    const path = pathOf(req)
    if (!path.startsWith('/') || rewritten.test(path)) {
      const message =
        'the request target must be a path, without "..", "\\", "#" or needless escapes'
      return new RequestRefused('target_malformed', message)
    }
    const duplicate = findDuplicateHeader(req.rawHeaders)
    if (duplicate !== null) {
      const message = `header "${duplicate}" was sent more than once`
      return new RequestRefused('header_duplicate', message)
    }
    const { host = '', origin } = req.headers
    const name = hostName(host)
    if (name === '') {
      const message = 'the Host header must be a name with at most a port behind it'
      return new RequestRefused('host_malformed', message)
    }
    // The address that the client reached is a name of a server that is bound to all of them.
    const isReached =
      this.#isBoundToAll && name === normaliseHost(plainAddress(req.socket.localAddress ?? ''))
    if (!isReached && !this.#hosts.has(name)) {
      const message = `host "${host}" is not allowed; allow it with --allowed-host ${name}`
      return new RequestRefused('host_not_allowed', message)
    }
    if (origin === undefined || this.#isAllowedOrigin(origin, host)) return null
    const isHostLink = path === '/host' || path.startsWith('/host/')
    if (isHostLink && this.#appOrigins.has(origin.toLowerCase())) return null
    const message = `origin "${origin}" is not allowed; allow it with --allowed-origin ${origin}`
    return new RequestRefused('origin_not_allowed', message)
  }

  /** The pages of the server itself are accepted, also under a name that only Host may carry. */
  #isAllowedOrigin(origin: string, host: string): boolean {
    const written = origin.toLowerCase()
    if (this.#origins.has(written) || isSameOrigin(origin, host)) return true
    const url = URL.canParse(written) ? new URL(written) : null
    return url !== null && /^https?:$/.test(url.protocol) && this.#own.has(url.hostname)
  }
}

/** The path of the request's target as the client wrote it, without the query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

export function normaliseOrigin(origin: string): string {
  return parseOrigin(origin) ?? origin.toLowerCase()
}

/** Whether the origin is that of the server itself, by the Host header of the request. */
export function isSameOrigin(origin: string, host: string): boolean {
  const parsed = parseOrigin(origin)
  if (parsed === null || !/^https?:/.test(parsed)) return false
  const own = `${parsed.slice(0, parsed.indexOf(':'))}://${host}`
  return URL.canParse(own) && new URL(own).origin === parsed
}

/**
 * The name in a Host header: lower case, port removed, brackets of an IPv6 address kept. Empty for
 * anything but a name with at most a port behind it.
 */
export function hostName(header: string): string {
  const [, name = ''] = /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.exec(header) ?? []
  return name.toLowerCase()
}

function findDuplicateHeader(rawHeaders: string[]): string | null {
  const seen: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ''
    if (!singleHeaders.has(name)) continue
    if (seen.includes(name)) return name
    seen.push(name)
  }
  return null
}

function normaliseHost(host: string): string {
  return isIP(host) === 6 ? `[${host.toLowerCase()}]` : hostName(host)
}
