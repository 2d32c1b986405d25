import type { GatewayEvent, GatewayEventKind } from './event-ring.ts'
import type { InstanceChange, InstanceEntry } from './instance-directory.ts'
import { type RowStatus, rowStatus, shortId } from './instance-row.ts'

/** What a change of the directory is as an event of the gateway; null: nothing to remember. */
export function eventOf(
  change: InstanceChange,
  before: RowStatus | undefined,
): GatewayEvent | null {
  switch (change.kind) {
    case 'appeared':
      return instanceEvent('instance_appeared', change.entry)
    case 'gone':
      return goneEvent(change.entry)
    case 'changed': {
      const kind = turnOf(rowStatus(change.entry), before)
      return kind === null ? null : instanceEvent(kind, change.entry)
    }
    case 'fault':
    case 'mended': {
      const event = change.kind === 'fault' ? 'record_fault' : 'record_mended'
      const { source, reason } = change.fault
      return { event, dccType: 'unknown', instanceId: source, reason }
    }
  }
}

/** A dead one goes when somebody removed what it left, or when it is dead for too long. */
function goneEvent(entry: InstanceEntry): GatewayEvent {
  if (entry.verdict.health === 'dead') return instanceEvent('ghost_reaped', entry)
  return { ...instanceEvent('instance_gone', entry), reason: 'it took its record away' }
}

function turnOf(now: RowStatus, before: RowStatus | undefined): GatewayEventKind | null {
  if (now === before) return null
  switch (now) {
    case 'dead':
      return 'instance_died'
    case 'stale':
      return 'instance_stale'
    case 'unreachable':
      return 'probe_unreachable'
    case 'booting':
      return 'probe_booting'
    default:
      return before === 'stale' || before === 'unreachable' || before === 'dead'
        ? 'instance_recovered'
        : null
  }
}

function instanceEvent(event: GatewayEventKind, { record, verdict }: InstanceEntry): GatewayEvent {
  const { dccType, instanceId } = record
  return { event, dccType, instanceId: shortId(instanceId), reason: verdict.reason }
}
