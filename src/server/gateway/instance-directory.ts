import type { JoinAccepted } from '../../lib/instances/join-wire.ts'
import type { InstanceRecord } from '../../lib/instances/record.ts'
import type { Visibility } from '../../lib/instances/join-wire.ts'
import { isLoopback } from '../../lib/util/net.ts'

/** All known instances, alive or not: those of this machine, and those that joined. */
export interface InstanceDirectory {
  /**
   * Dead ones included, oldest first. The identical array, of identical entries, until `onChange`
   * tells of a change.
   */
  readonly entries: readonly InstanceEntry[]
  /** Invalid records; they hide no other. The same array likewise. */
  readonly faults: readonly RecordFault[]
  /** Called after `entries` or `faults` changed. Returns the unsubscribe. */
  onChange(listener: (changes: InstanceChange[]) => void): () => void
  /** Resolves when nothing will be looked at or told any more. */
  close(): Promise<void>
}

/** One instance: what it says of itself, and what is known of its life. */
export interface InstanceEntry {
  readonly record: DirectoryRecord
  readonly verdict: Verdict
}

/** What an instance record says; its texts are safe to show. */
export type DirectoryRecord = Readonly<ReturnType<typeof shownRecord>>

/** Whose a joined instance is, as the token of its link says, and who sees it. */
export interface JoinedAs extends JoinAccepted {
  /** Of the owner; stays when the user is renamed. Never shown. */
  readonly accountId: string
  readonly visibility: Visibility
}

/** Whether it is there. `reason` is for people. */
export interface Verdict {
  readonly health: 'live' | 'stale' | 'unhealthy' | 'dead'
  readonly reason: string
  /** Milliseconds since the epoch; that it moves is no change by itself. */
  readonly heartbeatMs: number
}

export interface RecordFault {
  /** The file's name, safe to show. */
  readonly source: string
  readonly reason: string
}

export type InstanceChange =
  | { readonly kind: 'appeared'; readonly entry: InstanceEntry }
  /** Its record or its verdict. */
  | { readonly kind: 'changed'; readonly entry: InstanceEntry; readonly before: InstanceEntry }
  /** No entry any more; how it ended, or was last known. `isHidden`: it goes on, where others see it. */
  | {
      readonly kind: 'gone'
      readonly entry: InstanceEntry
      readonly before: InstanceEntry
      readonly isHidden?: true
    }
  | { readonly kind: 'fault'; readonly fault: RecordFault }
  /** What was wrong there is no more. */
  | { readonly kind: 'mended'; readonly fault: RecordFault }

/** An instance record without how to feed the instance: of `host_url` only the origin is kept. */
export function shownRecord(record: InstanceRecord) {
  const { host, scene_set_at: setAt } = record
  return {
    instanceId: record.instance_id,
    dccType: record.dcc_type,
    displayName: record.display_name,
    /** The server's process. */
    pid: record.pid,
    pidStart: record.pid_start,
    hostname: record.hostname,
    /** For clients. Null for a joined instance, which is reached over its link alone. */
    mcpUrl: record.mcp_url as string | null,
    /** Null: it runs on this machine, and left a record here. */
    joined: null as JoinedAs | null,
    localUrl: localUrlOf(record.host_url),
    version: record.version,
    host: {
      connected: host.connected,
      appPid: host.app_pid,
      version: host.version,
      mode: host.mode,
      /** When the application connected, or went; absent before the first one. */
      sinceMs: host.since === undefined ? undefined : Date.parse(host.since),
    },
    scene: record.scene,
    /** When a scene that no application sent was set; null: there is none. */
    sceneSetMs: setAt === null ? null : Date.parse(setAt),
    status: record.status,
    startedMs: Date.parse(record.started_at),
    metadata: record.metadata,
    /** Addresses of the gateways that it joins; absent for one that has joined this gateway. */
    gateways: record.gateways,
  }
}

/**
 * Where it answers programs of this machine without TLS, when that is literally an address of this
 * machine alone. Any other is never asked. Never shown.
 */
function localUrlOf(hostUrl: string): string | null {
  const url = URL.parse(hostUrl)
  return url?.protocol === 'http:' && isLoopback(url.hostname) ? url.origin : null
}
