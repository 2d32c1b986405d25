import { readFile } from 'node:fs/promises'
import type { Agent } from 'node:http'
import type { Socket } from 'node:net'
import { plainAddress } from './address.ts'

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
    const failed = (error: Error) => done?.(error, socket)
    socket.once('error', failed)
    socket.once('connect', () => {
      void readTables().then(tables => {
        if (socket.destroyed) return
        const { remoteAddress = '', remotePort = 0 } = socket
        if (isForeignListener(tables, plainAddress(remoteAddress), remotePort)) {
          socket.destroy(refusal())
          return
        }
        socket.off('error', failed)
        done?.(null, socket)
      })
    })
    return undefined
  }
}

/** From tables in the form of /proc/net/tcp. No such socket, as behind a port mapping: false. */
export function isForeignListener(
  tables: string,
  address: string,
  port: number,
  own = process.geteuid?.() ?? 0,
): boolean {
  const wanted = new Set(localAddresses(address))
  const portText = port.toString(16).toUpperCase().padStart(4, '0')
  return tables.split('\n').some(line => {
    const [, local = '', , state, , , , uid] = line.trim().split(/\s+/)
    const [host = '', at] = local.split(':')
    if (state !== '0A' || at !== portText || !wanted.has(host)) return false
    return Number(uid) !== own && Number(uid) !== 0
  })
}

/** How the tables write the addresses at which a listener gets connections to a loopback address. */
function localAddresses(address: string): string[] {
  const any = '0'.repeat(32)
  if (address === '::1') return [any, '00000000000000000000000001000000']
  const bytes = address.split('.').map(Number)
  const ipv4 = Buffer.from(bytes.toReversed()).toString('hex').toUpperCase()
  return ['00000000', ipv4, any, `0000000000000000FFFF0000${ipv4}`]
}

async function readTables(): Promise<string> {
  const files = ['/proc/net/tcp', '/proc/net/tcp6']
  return (await Promise.all(files.map(file => readFile(file, 'utf8').catch(() => '')))).join('\n')
}
