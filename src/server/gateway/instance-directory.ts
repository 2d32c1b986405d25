import type { InstanceStatus } from '../../lib/instances/record.ts'
import type { Visibility } from '../../lib/instances/visibility.ts'
import type { JoinAccepted } from '../join/wire.ts'

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
export interface DirectoryRecord {
  readonly instanceId: string
  readonly dccType: string
  readonly displayName: string
  /** The server's process. */
  readonly pid: number
  readonly pidStart: string | null
  readonly hostname: string
  /**
   * An http or https URL without user and password, for clients. Null for a joined instance, which is
   * reached over its link alone.
   */
  readonly mcpUrl: string | null
  /** Null: it runs on this machine, and left a record here. */
  readonly joined: JoinedAs | null
  /**
   * Where it answers programs of this machine without TLS: the origin of `host_url`, when that is
   * literally an address of this machine alone. Any other is never asked. Never shown.
   */
  readonly localUrl: string | null
  readonly version: string
  readonly host: {
    readonly connected: boolean
    readonly appPid: number | null
    readonly version: string | null
    readonly mode: string | null
    /** When the application connected, or went; absent before the first one. */
    readonly sinceMs?: number
  }
  readonly scene: string | null
  /** When a scene that no application sent was set; null: there is none. */
  readonly sceneSetMs: number | null
  readonly status: InstanceStatus
  /** Milliseconds since the epoch. */
  readonly startedMs: number
  readonly metadata: Readonly<Record<string, unknown>>
  /** Addresses of the gateways that it joins; empty for one that has joined this gateway. */
  readonly gateways?: readonly string[]
}

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
  /** Milliseconds since the epoch; read anew at each access, and no change by itself. */
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
