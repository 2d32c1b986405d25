import { setTimeout as delay } from 'node:timers/promises'
import { ServiceError } from '../../lib/util/errors.ts'
import { type ActiveGateway, readActiveGateway } from './active-gateway.ts'

/** What happens in an election, and to the gateway that won it. */
export interface ElectionEvent {
  readonly event: 'election_won' | 'takeover' | 'contention' | 'port_taken' | 'voluntary_yield'
  /** A sentence for people. */
  readonly reason: string
  /** The gateway that has the port. */
  readonly resident: ActiveGateway | null
}

interface ElectionParts {
  readonly host: string
  readonly port: number
  readonly registryDir: string
  /** Waits behind another gateway. */
  readonly standby: boolean
  /** Waits behind any program: the port is not what this process is for. */
  readonly waitForPort?: boolean
  /** Binding the port is the election. Rejects with `port_in_use` when it is taken. */
  readonly bind: () => Promise<unknown>
  readonly notify: (news: ElectionEvent) => void
  readonly signal: AbortSignal
}

/** Pause between two tries to bind the port. */
const retryMs = 500

/** A gateway that has just bound the port gets so many tries to write down that it did. */
const maxUnnamedTries = 3

/**
 * Settles when the port is bound, with the gateway that it stood by behind, if any. Rejects with
 * `port_in_use` where it is not to wait, and with the reason of `signal`.
 */
export async function acquirePort(parts: ElectionParts): Promise<ActiveGateway | null> {
  const { port, registryDir, notify, signal } = parts
  let behind: ActiveGateway | null = null
  let unnamedTries = 0
  // Ended by the signal, if by nothing else.
  for (;;) {
    signal.throwIfAborted()
    const taken = await parts.bind().then(() => null, portInUse)
    if (taken === null) return behind
    const holder = await readActiveGateway(registryDir, port)
    if (holder !== null) {
      unnamedTries = 0
      if (!parts.standby) throw heldByGateway(parts, holder)
      if (holder.instance_id !== behind?.instance_id) {
        const reason = `process ${holder.pid} is the gateway of port ${port}; standing by`
        notify({ event: 'contention', reason, resident: holder })
      }
      behind = holder
    } else if (++unnamedTries === maxUnnamedTries) {
      // A standby keeps waiting while an unrelated program holds the port.
      if (parts.waitForPort !== true && behind === null) throw taken
      const reason = `port ${port} is in use by another program`
      notify({ event: 'port_taken', reason, resident: null })
    }
    // Keeps the process alive: to wait is all that it does.
    await delay(retryMs, undefined, { signal }).catch(() => {})
  }
}

/** Throws any other error. */
function portInUse(error: unknown): ServiceError {
  if (error instanceof ServiceError && error.code === 'port_in_use') return error
  throw error
}

function heldByGateway({ host, port }: ElectionParts, active: ActiveGateway): ServiceError {
  const holder = `the gateway of process ${active.pid} (${active.instance_id})`
  return new ServiceError('port_in_use', `port ${port} on ${host} is held by ${holder}`, {
    hint: 'leave out --no-standby to wait for it, or choose another --port',
    data: { host, port, holder },
  })
}
