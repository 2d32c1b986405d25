import { connect } from 'node:net'
import { findPortHolder } from '../../lib/util/port-holder.ts'
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

/** The holder of a port. */
export type PortState =
  | { readonly kind: 'free' }
  /** A process accepts connections; the system hides which, for example of another user. */
  | { readonly kind: 'unknown' }
  /** `own`: the name of the process when it is one of this program. */
  | {
      readonly kind: 'held'
      readonly pid: number
      readonly command: string
      readonly own: string | null
    }

export function judgePort({ port, command }: KnownPort, state: PortState): Finding {
  const check = `port_${port}`
  const what = `port ${port} (${command})`
  if (state.kind === 'free') return { check, status: 'ok', summary: `${what} is free` }
  if (state.kind === 'held' && state.own !== null) {
    return { check, status: 'ok', summary: `${what} is held by ${state.own}, process ${state.pid}` }
  }
  const holder =
    state.kind === 'held' ? `${state.command}, process ${state.pid}` : 'an unknown process'
  return {
    check,
    status: 'warn',
    summary: `${what} is held by ${holder}`,
    hint: `end it, or start service-cli ${command} with another --port (0 picks a free one)`,
  }
}

/** `ownOf` names a process of this program by its pid. */
export async function readPort(
  port: number,
  ownOf: (pid: number) => string | null,
): Promise<PortState> {
  const holder = await findPortHolder(port)
  if (holder === null)
    return (await takesConnections(port)) ? { kind: 'unknown' } : { kind: 'free' }
  const { pid, program: command } = holder
  const own = ownOf(pid) ?? (command === 'service-cli' ? 'service-cli' : null)
  return { kind: 'held', pid, command, own }
}

const connectMs = 1000

function takesConnections(port: number): Promise<boolean> {
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
