import type { GatewayLimits } from './limits.ts'
import { localBase } from '../http/listen-options.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { ElectionLine, GatewayOptions } from './options.ts'
import { elect, type Elected, type ElectionEvent, ElectionLost } from './election.ts'
import { type Reporter, reportOf } from './election-report.ts'
import { createHolderProbe } from './holder-probe.ts'
import { readActiveGatewayFile, type ActiveGateway, activeGatewayFile } from './active-gateway.ts'

/** A standby tries this often to take the port. */
const electionRetryMs = 500

interface GatewayElectionParts<Won> {
  readonly options: GatewayOptions
  readonly limits: GatewayLimits
  readonly registryDir: string
  /** The gateway that wants the port. */
  readonly by: Reporter
  /** Binds the port; rejects with `port_in_use` when it is taken. */
  readonly bind: () => Promise<Won>
  readonly tell: (news: ElectionEvent) => void
  readonly signal: AbortSignal
}

/**
 * Settles when the port is bound, which may be never. Rejects with `port_in_use` where it is not to
 * wait for it, and with the reason of `signal`.
 */
export async function winPort<Won>(parts: GatewayElectionParts<Won>): Promise<Elected<Won>> {
  const { options, limits, by, tell } = parts
  const { host, port, patient = false } = options
  const written = () => readActiveGatewayFile(activeGatewayFile(parts.registryDir, port))
  try {
    return await elect({
      rules: { ...options, ...limits, patient },
      retryMs: electionRetryMs,
      bind: () => parts.bind().catch(whenTaken),
      probe: createHolderProbe({
        base: localBase(host, port),
        timeoutMs: limits.activeProbeMs,
        written,
      }),
      tell(news) {
        tell(news)
        options.onElection?.(lineOf(news, by))
      },
      signal: parts.signal,
    })
  } catch (error) {
    throw error instanceof ElectionLost ? lostError(error, host, port) : error
  }
}

function whenTaken(error: unknown): null {
  if (error instanceof ServiceError && error.code === 'port_in_use') return null
  throw error
}

/** The line on stdout for the program that started this one. */
function lineOf(news: ElectionEvent, by: Reporter): ElectionLine {
  const { message } = reportOf(news, by)
  const active = 'active' in news ? news.active : null
  return {
    event: news.event === 'contention' ? 'standby' : news.event,
    port: by.port,
    reason: message,
    resident: active === null ? null : shown(active, by),
  }
}

function shown(active: ActiveGateway, { registry }: Reporter): ElectionLine['resident'] {
  const { instanceId, pid, url, version } = active
  return { instance_id: instanceId, pid, url, version, same_registry: active.registry === registry }
}

function lostError(lost: ElectionLost, host: string, port: number): ServiceError {
  const { active } = lost
  if (active === null) {
    return new ServiceError(
      'port_in_use',
      `port ${port} on ${host} is in use: it ${lost.message}`,
      { cause: lost, data: { host, port }, hint: 'stop that server or use --port 0' },
    )
  }
  const { pid, version, startedAt, instanceId } = active
  const holder = `the gateway of process ${pid} (${instanceId}, version ${version}, since ${startedAt})`
  return new ServiceError('port_in_use', `port ${port} on ${host} is held by ${holder}`, {
    cause: lost,
    hint: 'leave out --no-standby to wait for it, or choose another --port',
    data: { host, port, holder },
  })
}
