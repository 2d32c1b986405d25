import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { cleanText } from './text.ts'
import type { Agent } from 'node:http'
import type { Socket } from 'node:net'
import { plainAddress } from './address.ts'
import { errnoOf } from './errors.ts'

interface PortHolder {
  readonly pid: number
  /** Its name, without arguments: any of them may be a secret. */
  readonly program: string
}

/** Processes looked at before giving up. */
const maxProcesses = 4096
const maxProgramChars = 60
const interpreter = /^(node|python[\d.]*|ruby|perl|java|bun|deno|sh|bash)$/

/**
 * The process that listens on a local TCP port; null when it cannot be found (another user's
 * process, another operating system than Linux).
 */
export async function findPortHolder(port: number): Promise<PortHolder | null> {
  if (process.platform !== 'linux') return null
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map(readText))
  const inodes = new Set(tables.flatMap(table => listeningInodes(table, port)))
  if (inodes.size === 0) return null
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  for (const pid of pids.slice(-maxProcesses)) {
    if (!(await holdsSocket(pid, inodes))) continue
    return { pid: Number(pid), program: programName(await readText(`/proc/${pid}/cmdline`)) }
  }
  return null
}

/** Socket inodes of the sockets listening on `port`, from a table in the form of /proc/net/tcp. */
export function listeningInodes(table: string, port: number): string[] {
  const wanted = `:${portText(port)}`
  return table
    .split('\n')
    .slice(1)
    .map(line => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(wanted) && state === '0A')
    .flatMap(columns => columns[9] ?? [])
}

async function holdsSocket(pid: string, inodes: Set<string>): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const target = await readlink(`${folder}/${name}`).catch(() => '')
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
    if (inode !== undefined && inodes.has(inode)) return true
  }
  return false
}

/** From the words of `/proc/<pid>/cmdline`: the program, or what its interpreter runs. */
export function programName(commandLine: string): string {
  // A program that names itself (`process.title`) leaves one text with spaces.
  const [program = '', ...words] = commandLine.split(/[\0 ]/)
  const name = basename(program)
  const script = words.find(word => word !== '' && !word.startsWith('-'))
  const shown =
    interpreter.test(name) && script !== undefined ? `${name} ${basename(script)}` : name
  return cleanText(shown, maxProgramChars) || 'a program without a name'
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
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
    let isTold = false
    const tell = (error: Error | null): void => {
      if (!isTold) done?.(error, socket)
      isTold = true
    }
    socket.once('error', tell)
    // A server that ends may close a connection without an error, and the request must not hang.
    socket.once('close', () => tell(Object.assign(new Error('closed'), { code: 'ECONNRESET' })))
    socket.once('connect', () => {
      void isForeignSocket(socket).then(isForeign => {
        if (socket.destroyed) return
        if (isForeign) {
          socket.destroy(refusal())
          return
        }
        socket.off('error', tell)
        tell(null)
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
  const tables = await readTables()
  // A process without free file descriptors cannot look, and must not send a key.
  if (tables === null) return true
  // Of a closed socket the other end is gone, too.
  if (remoteAddress === '') return false
  return isForeignPeer(tables, { address: plainAddress(remoteAddress), port, localPort })
}

/** A connection of this process, by its other end. */
interface Peer {
  readonly address: string
  readonly port: number
  /** Of this process. */
  readonly localPort: number
}

/**
 * From tables in the form of /proc/net/tcp: who listens there, or has accepted the connection and
 * listens no more. No such socket, as behind a port mapping: false.
 */
export function isForeignPeer(
  tables: string,
  { address, port, localPort }: Peer,
  own = process.geteuid?.() ?? 0,
): boolean {
  const listening: { host: string; isForeign: boolean }[] = []
  const addresses = localAddresses(address)
  const hosts = new Set(addresses.flat())
  // A busy port has thousands of connections: only lines of these two kinds are parsed.
  const accepted = linesWith(tables, `:${portText(localPort)} 01 `)
  for (const line of [...linesWith(tables, ':0000 0A '), ...accepted]) {
    const [, local = '', , state, , , , uid] = line.trim().split(/\s+/)
    const [host = '', at] = local.split(':')
    if (at !== portText(port) || !hosts.has(host)) continue
    const isForeign = Number(uid) !== own && Number(uid) !== 0
    if (state === '0A') listening.push({ host, isForeign })
    else if (isForeign) return true
  }
  // A connection goes to the listener at the narrowest address. Another user may have a wider one.
  const narrowest = addresses.find(same => listening.some(({ host }) => same.includes(host))) ?? []
  return listening.some(({ host, isForeign }) => isForeign && narrowest.includes(host))
}

/** Tables can have tens of thousands of lines. */
function* linesWith(text: string, part: string): Generator<string> {
  for (let at = text.indexOf(part); at !== -1;) {
    const end = text.indexOf('\n', at)
    const until = end === -1 ? text.length : end
    yield text.slice(text.lastIndexOf('\n', at) + 1, until)
    at = text.indexOf(part, until)
  }
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
const readTables = sharedRead(async (): Promise<string | null> => {
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map(file =>
    readFile(file, 'utf8').catch((error: unknown) => (errnoOf(error) === 'ENOENT' ? '' : null)),
  )
  const [ipv4 = null, ipv6 = null] = await Promise.all(tables)
  return ipv4 === null || ipv6 === null ? null : `${ipv4}\n${ipv6}`
})

/** Every call gets a value whose reading began after it; calls at the same time share one. */
export function sharedRead<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let running: Promise<Value> | null = null
  let following: Promise<Value> | null = null
  const start = (): Promise<Value> => {
    running = read().finally(() => (running = null))
    return running
  }
  return () => {
    if (running === null) return start()
    const after = () => {
      following = null
      return start()
    }
    following ??= running.then(after, after)
    return following
  }
}
