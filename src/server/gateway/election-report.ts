import type { ElectionEvent } from './election.ts'
import type { GatewayEvent } from './event-ring.ts'
import { shortId } from './instance-rows.ts'
import type { ActiveGateway } from './active-gateway.ts'

/** How a gateway came to its port, and how it leaves it. */
export type PortNews =
  | { readonly event: 'election_won' }
  /** `yielded`: the one before went by itself, it did not die. */
  | { readonly event: 'takeover'; readonly from: ActiveGateway; readonly yielded: boolean }
  | { readonly event: 'voluntary_yield' }

interface Report {
  /** For the event ring. */
  readonly entry: GatewayEvent
  readonly level: 'info' | 'warn'
  /** For the log, with `fields`. */
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Whose news it is. */
export interface Reporter {
  readonly instanceId: string
  readonly port: number
  /** `registryMark` of its folder. */
  readonly registry: string
}

/** One piece of news, for those who read the ring and those who read the log. */
export function reportOf(news: ElectionEvent | PortNews, by: Reporter): Report {
  switch (news.event) {
    case 'election_won':
      return own(by, news.event, `the gateway of port ${by.port}`)
    case 'takeover': {
      const how = news.yielded ? 'yielded' : 'ended without a word'
      return own(by, news.event, `the gateway before, process ${news.from.pid}, ${how}`)
    }
    case 'voluntary_yield':
      return own(by, news.event, `this gateway leaves port ${by.port} to others`)
    case 'contention': {
      const { active } = news
      const told = `process ${active.pid} is the gateway of port ${by.port}; standing by`
      if (active.registry === by.registry) return of(active, news.event, 'info', told)
      // Clients of that gateway see no instance of this user.
      return of(active, news.event, 'warn', `${told}, though it serves another state directory`)
    }
    case 'resident_unresponsive': {
      const { active } = news
      const told = `the gateway of port ${by.port}, process ${active.pid}, accepts connections and does not answer; end it to let another gateway take over`
      return of(active, news.event, 'warn', told)
    }
    case 'resident_recovered':
      return of(news.active, news.event, 'info', 'the gateway answers again')
    case 'port_taken':
      return own(
        by,
        news.event,
        `port ${by.port} is in use by another program, which ${news.reason}`,
        'warn',
      )
  }
}

function own(
  { instanceId }: Reporter,
  event: GatewayEvent['event'],
  message: string,
  level: Report['level'] = 'info',
): Report {
  const entry = { event, instanceId: shortId(instanceId), reason: message }
  return { entry, level, message, fields: { event } }
}

function of(
  active: ActiveGateway,
  event: GatewayEvent['event'],
  level: Report['level'],
  message: string,
): Report {
  const { instanceId, pid, url } = active
  const entry = { event, instanceId: shortId(instanceId), reason: message }
  return { entry, level, message, fields: { event, active: instanceId, active_pid: pid, url } }
}
