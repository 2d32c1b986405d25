import { withoutBrackets } from '../../lib/util/net.ts'
import { toRfc3339 } from '../../lib/util/time.ts'
import { absenceText } from '../../lib/instances/instance.ts'
import { plainId } from '../../lib/instances/select-instance.ts'
import type { Visibility } from '../../lib/instances/visibility.ts'
import type { JoinAccepted } from '../join/wire.ts'
import type {
  InstanceDirectory,
  InstanceEntry,
  JoinedAs,
  RecordFault,
} from './instance-directory.ts'

/** Instances of one answer, also when the reader names no `limit`. */
export const maxInstanceRows = 1000

export const rowStatuses = [
  'available',
  'busy',
  'booting',
  'stale',
  'unreachable',
  'shutting_down',
  'dead',
] as const

/** What to expect of an instance: what it says of itself, unless its life says otherwise. */
export type RowStatus = (typeof rowStatuses)[number]

/** One instance in a list. Member names are those on the wire. */
export interface InstanceRow {
  readonly instance_id: string
  readonly instance_short: string
  /** `<application>@<version>-<short id>` */
  readonly display_id: string
  readonly display_name: string
  readonly dcc_type: string
  /** Of the application; null until it has said so. */
  readonly version: string | null
  readonly host: string | null
  readonly port: number | null
  /** The application's process; null as long as none is connected. */
  readonly host_pid: number | null
  /** The application behind the server. */
  readonly application: {
    readonly connected: boolean
    /** RFC 3339: when it connected, or went; null before the first one. */
    readonly since: string | null
  }
  /** Where a client opens a session with this very instance; null: it is read through the gateway. */
  readonly mcp_url: string | null
  /** Whether it runs on this machine, or has joined from another one. */
  readonly origin: 'local' | 'joined'
  /** Whose a joined instance is, and who sees it. */
  readonly joined?: JoinAccepted & { readonly visible_to: Visibility }
  /** The kind of directory that knows the instance. */
  readonly source: 'file' | 'link'
  readonly status: RowStatus
  readonly health: InstanceEntry['verdict']['health']
  readonly reason: string
  readonly stale: boolean
  readonly scene: string | null
  /** RFC 3339: when a scene that no application sent was set. */
  readonly scene_set_at: string | null
  readonly metadata: unknown
  readonly instance_status: {
    readonly status: RowStatus
    /** Whether the same request may succeed later without any action. */
    readonly retryable: boolean
    readonly recommended_next_action: string
  }
}

interface VerboseRow extends InstanceRow {
  /** The server's process. */
  readonly pid: number
  readonly hostname: string
  readonly server_version: string
  readonly started_at: string
  readonly lifecycle: {
    readonly service_pid: number
    readonly host_pid: number | null
    readonly host_bound: boolean
    readonly host_mode: string | null
  }
}

export function rowStatus({ record, verdict }: InstanceEntry): RowStatus {
  switch (verdict.health) {
    case 'dead':
      return 'dead'
    case 'stale':
      return 'stale'
    case 'unhealthy':
      return 'unreachable'
    case 'live':
      return record.status
  }
}

export function shortId(instanceId: string): string {
  return plainId(instanceId).slice(0, 8)
}

/** The texts of a record are safe to show: `parseShownRecord` made them so. */
export function instanceRow(entry: InstanceEntry): InstanceRow {
  const { record, verdict } = entry
  const { dccType } = record
  const { version } = record.host
  const short = shortId(record.instanceId)
  const status = rowStatus(entry)
  return {
    instance_id: record.instanceId,
    instance_short: short,
    display_id: `${dccType}@${version ?? 'unknown'}-${short}`,
    display_name: record.displayName,
    dcc_type: dccType,
    version,
    ...addressOf(record.mcpUrl),
    host_pid: record.host.appPid,
    application: { connected: record.host.connected, since: sinceOf(entry) },
    mcp_url: record.mcpUrl,
    origin: record.joined === null ? 'local' : 'joined',
    ...(record.joined && { joined: shownOwner(record.joined) }),
    source: record.joined === null ? 'file' : 'link',
    status,
    health: verdict.health,
    reason: verdict.reason,
    stale: verdict.health === 'stale',
    scene: record.scene,
    scene_set_at: record.sceneSetMs === null ? null : toRfc3339(record.sceneSetMs),
    metadata: record.metadata,
    instance_status: adviceFor(entry, status),
  }
}

function shownOwner({
  owner,
  team,
  name,
  visibility,
}: JoinedAs): NonNullable<InstanceRow['joined']> {
  return { owner, team, name, visible_to: visibility }
}

function adviceFor(entry: InstanceEntry, status: RowStatus): InstanceRow['instance_status'] {
  const given = { status, ...advice[status], ...adviceWithout(entry, status) }
  const { instanceId, joined } = entry.record
  if (joined === null) return given
  const read = `read instance://${instanceId}/scene/current here`
  const action = given.recommended_next_action.replace(connect, read)
  return { ...given, recommended_next_action: action }
}

/** For people and agents: is an application behind the server? Null: it is connected. */
function absenceOf(entry: InstanceEntry): string | null {
  const { connected } = entry.record.host
  const since = sinceOf(entry)
  if (!connected && since === null) return 'no application has connected yet'
  return absenceText({ connected, since })
}

function sinceOf({ record }: InstanceEntry): string | null {
  const since = record.host.sinceMs
  return since === undefined ? null : toRfc3339(since)
}

/** A server that lost its application keeps what that said last. */
function adviceWithout(
  entry: InstanceEntry,
  status: RowStatus,
): { readonly recommended_next_action?: string } {
  const absence = status === 'available' ? absenceOf(entry) : null
  // A posted scene needs no application.
  if (absence === null || entry.record.sceneSetMs !== null) return {}
  const what =
    entry.record.host.sinceMs === undefined
      ? 'open the application and press Connect'
      : 'its last scene can still be read; open it again and press Connect for new ones'
  return { recommended_next_action: `${connect}; ${absence}: ${what}` }
}

export function verboseRow(entry: InstanceEntry): VerboseRow {
  const { record } = entry
  return {
    ...instanceRow(entry),
    pid: record.pid,
    hostname: record.hostname,
    server_version: record.version,
    started_at: toRfc3339(record.startedMs),
    lifecycle: {
      service_pid: record.pid,
      host_pid: record.host.appPid,
      host_bound: record.host.connected,
      host_mode: record.host.mode,
    },
  }
}

const connect = 'open an MCP session at mcp_url'

const advice: Readonly<
  Record<RowStatus, { readonly retryable: boolean; readonly recommended_next_action: string }>
> = {
  available: { retryable: false, recommended_next_action: connect },
  busy: {
    retryable: true,
    recommended_next_action: `${connect}; questions to the application may have to wait`,
  },
  booting: { retryable: true, recommended_next_action: 'wait until its status is available' },
  stale: {
    retryable: true,
    recommended_next_action: 'wait for its next heartbeat; its process may hang',
  },
  unreachable: {
    retryable: true,
    recommended_next_action: 'wait until it answers again; its process runs',
  },
  shutting_down: {
    retryable: false,
    recommended_next_action: 'choose another instance from gateway://instances',
  },
  dead: {
    retryable: false,
    recommended_next_action: 'choose another instance from gateway://instances',
  },
}

function addressOf(url: string | null): { host: string | null; port: number | null } {
  const parsed = url === null ? null : URL.parse(url)
  if (parsed === null || parsed.hostname === '') return { host: null, port: null }
  const usual = parsed.protocol === 'https:' ? 443 : 80
  return {
    host: withoutBrackets(parsed.hostname),
    port: parsed.port === '' ? usual : Number(parsed.port),
  }
}

/** The directory as rows, made once for each state of an entry. */
export class InstanceRows {
  readonly #directory: InstanceDirectory
  readonly #compact = new WeakMap<InstanceEntry, InstanceRow>()
  readonly #verbose = new WeakMap<InstanceEntry, VerboseRow>()
  #entries: readonly InstanceEntry[] | undefined
  #faults: readonly RecordFault[] | undefined
  #version = 0

  constructor(directory: InstanceDirectory) {
    this.#directory = directory
  }

  /** Another number, another state. */
  get version(): number {
    const { entries, faults } = this.#directory
    if (entries !== this.#entries || faults !== this.#faults) {
      this.#entries = entries
      this.#faults = faults
      this.#version++
    }
    return this.#version
  }

  get entries(): readonly InstanceEntry[] {
    return this.#directory.entries
  }

  get faults(): readonly RecordFault[] {
    return this.#directory.faults
  }

  compact(): readonly InstanceRow[] {
    return this.entries.map(entry => this.row(entry))
  }

  verbose(): readonly VerboseRow[] {
    return this.entries.map(entry => this.verboseRow(entry))
  }

  row(entry: InstanceEntry): InstanceRow {
    return kept(this.#compact, entry, () => instanceRow(entry))
  }

  verboseRow(entry: InstanceEntry): VerboseRow {
    return kept(this.#verbose, entry, () => verboseRow(entry))
  }
}

function kept<Key extends object, Value>(
  values: WeakMap<Key, Value>,
  key: Key,
  make: () => Value,
): Value {
  const known = values.get(key)
  if (known !== undefined) return known
  const value = make()
  values.set(key, value)
  return value
}
