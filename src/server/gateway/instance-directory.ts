/**
 * All instances that can be known of, alive or not: the one thing the gateway looks at. The
 * filesystem is its first implementation, a database another; both pass the same suite.
 */
export interface InstanceDirectory {
  /** Everything there is now, dead ones included, oldest first. Never fails and never waits. */
  readonly entries: readonly InstanceEntry[]
  /** Records that are not understood; they hide nothing else. Bounded. */
  readonly faults: readonly RecordFault[]
  /** Returns the unsubscribe. Called after `entries` changed, once for what came together. */
  onChange(listener: (changes: readonly InstanceChange[]) => void): () => void
  /** Resolves when everything that was true at the call has been seen. */
  refresh(): Promise<void>
  close(): Promise<void>
}

/** One instance: what it says of itself, and what is known of its life. */
export interface InstanceEntry {
  readonly record: DirectoryRecord
  readonly verdict: Verdict
}

/** What an instance record says, checked member by member, cut to bounds and safe to show. */
export interface DirectoryRecord {
  readonly instanceId: string
  readonly dccType: string
  readonly displayName: string
  /** The server's process. */
  readonly pid: number
  readonly pidStart: string | null
  readonly hostname: string
  /** Never fetched. */
  readonly mcpUrl: string
  readonly version: string
  readonly host: {
    readonly connected: boolean
    readonly appPid: number | null
    readonly version: string | null
    readonly mode: string | null
  }
  readonly scene: string | null
  readonly status: 'available' | 'busy' | 'booting' | 'unreachable' | 'shutting_down'
  /** Milliseconds since the epoch. */
  readonly startedMs: number
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Is it there? `reason` is a sentence for people. */
export interface Verdict {
  readonly health: 'live' | 'stale' | 'unhealthy' | 'dead'
  readonly reason: string
  /** Since its last sign of life, as a watch of this process measured it; null: never seen alive. */
  readonly heartbeatAgeMs: number | null
}

export interface RecordFault {
  /** Which record, in the words of the implementation: a file's name. */
  readonly source: string
  readonly reason: string
}

export type InstanceChange =
  | { readonly kind: 'appeared' | 'changed' | 'gone'; readonly entry: InstanceEntry }
  | { readonly kind: 'fault'; readonly fault: RecordFault }
