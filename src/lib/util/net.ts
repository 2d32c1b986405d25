import { readFile } from 'node:fs/promises'
import type { Agent } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'
import { errnoOf } from './errors.ts'

/**
 * Whether only this machine reaches `host`, in the brackets of a URL or without. False for names
 * but `localhost`: they are not looked up.
 */
export function isLoopback(host: string): boolean {
  const plain = plainAddress(withoutBrackets(host))
  if (isIP(plain) === 4) return plain.startsWith('127.')
  return plain === 'localhost' || plain === '::1'
}

/** Whether what is sent to the address crosses a network in plain http. */
export function isExposed(address: string | URL): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol === 'http:' && !isLoopback(hostname)
}

/** An IPv6 address as it is without the brackets that it has in a URL; any other host as it is. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

/** An address as a socket tells it: IPv4 inside IPv6 as IPv4. */
export function plainAddress(address: string): string {
  return address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
}

/** The address for messages and logs. Hides the query, where some servers expect a key. */
export function shownUrl({ protocol, host, pathname, search }: URL): string {
  return `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}`
}

/** `10.0.0.0/8`, or one address; null for any other text, and for the network that is everything. */
export function parseNetwork(text: string): BlockList | null {
  const [written = '', prefix, ...more] = text.split('/')
  const address = withoutBrackets(written)
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  const network = new BlockList()
  if (prefix !== undefined && (!/^[1-9]\d*$/.test(prefix) || more.length > 0)) return null
  try {
    if (prefix === undefined) network.addAddress(address, family)
    else network.addSubnet(address, Number(prefix), family)
    return network
  } catch {
    return null
  }
}

/** Whether the network has the address; false for a name. */
export function isInNetwork(network: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && network.check(address, version === 6 ? 'ipv6' : 'ipv4')
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

/**
 * Makes the connections of `agent`, which go to this machine, fail with `refusal` before a request is
 * sent when another user than this one or root listens there. Linux only: elsewhere the system does
 * not tell.
 */
export function refuseForeignListeners(agent: Agent, refusal: () => Error): void {
  if (process.platform !== 'linux') return
  const create = agent.createConnection.bind(agent)
  agent.createConnection = (options, done) => {
    const socket = create(options) as Socket
    let isSettled = false
    const settle = (error: Error | null): void => {
      if (!isSettled) done?.(error, socket)
      isSettled = true
    }
    socket.once('error', settle)
    // A server that ends may close a connection without an error, and the request must not hang.
    socket.once('close', () => settle(Object.assign(new Error('closed'), { code: 'ECONNRESET' })))
    socket.once('connect', () => {
      void isForeignSocket(socket).then(isForeign => {
        if (socket.destroyed) return
        if (isForeign) {
          socket.destroy(refusal())
          return
        }
        socket.off('error', settle)
        settle(null)
      })
    })
    return undefined
  }
}

/**
 * Whether a program of another user than this one or root listens at the other end of the socket,
 * which is on this machine. Linux only: false elsewhere.
 */
export async function isForeignSocket(socket: Socket): Promise<boolean> {
  if (process.platform !== 'linux') return false
  const { remoteAddress = '', remotePort: port = 0, localPort = 0 } = socket
  const tables = await readSocketTables()
  // A process without free file descriptors cannot look, and must not send a key.
  if (tables === null) return true
  // Of a closed socket the other end is gone, too.
  if (remoteAddress === '') return false
  return isForeignPeer(tables, { address: plainAddress(remoteAddress), port, localPort })
}

/**
 * From tables in the form of /proc/net/tcp: who listens there, or has accepted the connection and
 * listens no more. No such socket, as behind a port mapping: false. `localPort` is of this process.
 */
export function isForeignPeer(
  tables: string,
  { address, port, localPort }: { address: string; port: number; localPort: number },
  own = process.geteuid?.() ?? 0,
): boolean {
  const listening: { host: string; isForeign: boolean }[] = []
  const addresses = localAddresses(address)
  const hosts = new Set(addresses.flat())
  const accepted = `:${portText(localPort)}`
  for (const line of tables.split('\n').filter(each => each.includes(`:${portText(port)} `))) {
    const [, local = '', remote = '', state, , , , uid] = line.trim().split(/\s+/)
    const [host = '', at] = local.split(':')
    if (at !== portText(port) || !hosts.has(host)) continue
    const isForeign = Number(uid) !== own && Number(uid) !== 0
    if (state === '0A') listening.push({ host, isForeign })
    else if (state === '01' && isForeign && remote.endsWith(accepted)) return true
  }
  // A connection goes to the listener at the narrowest address. Another user may have a wider one.
  const narrowest = addresses.find(same => listening.some(({ host }) => same.includes(host))) ?? []
  return listening.some(({ host, isForeign }) => isForeign && narrowest.includes(host))
}

function portText(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
}

/**
 * How the tables write the addresses at which a listener gets connections to a loopback address, the
 * narrowest first.
 */
function localAddresses(address: string): readonly (readonly string[])[] {
  const any = '0'.repeat(32)
  if (address === '::1') return [['00000000000000000000000001000000'], [any]]
  const bytes = address.split('.').map(Number)
  const ipv4 = Buffer.from(bytes.toReversed()).toString('hex').toUpperCase()
  const both = (text: string) => [text, `0000000000000000FFFF0000${text}`]
  return [both(ipv4), both('00000000'), [any]]
}

/** Null when they cannot be read. */
async function readSocketTables(): Promise<string | null> {
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map(file =>
    readFile(file, 'utf8').catch((error: unknown) => (errnoOf(error) === 'ENOENT' ? '' : null)),
  )
  const [ipv4 = null, ipv6 = null] = await Promise.all(tables)
  return ipv4 === null || ipv6 === null ? null : `${ipv4}\n${ipv6}`
}
