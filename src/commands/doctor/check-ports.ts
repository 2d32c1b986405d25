import { connect } from 'node:net'
import { defaultPorts } from '../default-ports.ts'
import type { Finding } from './finding.ts'

/** The default port of a command. */
interface KnownPort {
  readonly port: number
  readonly command: string
}

export const knownPorts: readonly KnownPort[] = Object.entries(defaultPorts).map(
  ([command, port]) => ({ port, command }),
)

/** `server` names the instance that listens on the port; null when no known instance does. */
export function judgePort(
  { port, command }: KnownPort,
  { inUse, server }: { inUse: boolean; server: string | null },
): Finding {
  const check = `port_${port}`
  const what = `port ${port} (${command})`
  if (!inUse) return { check, status: 'ok', summary: `${what} is free` }
  if (server !== null) return { check, status: 'ok', summary: `${what} is in use by ${server}` }
  const hint = `to start service-cli ${command}, stop that server or use --port 0`
  return { check, status: 'ok', summary: `${what} is in use`, hint }
}

const connectMs = 1000

/** Whether a program accepts connections on the port of the loopback address. */
export function isPortInUse(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host: '127.0.0.1', port })
    const settle = (taken: boolean): void => {
      resolve(taken)
      socket.destroy()
    }
    socket.setTimeout(connectMs, () => settle(false))
    socket.once('connect', () => settle(true))
    socket.once('error', () => settle(false))
  })
}
