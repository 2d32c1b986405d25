import type { JoinAccepted, Visibility } from '../../lib/instances/join-wire.ts'
import type { InstanceRecord } from '../../lib/instances/record.ts'

/** All known instances, alive or not: those of this machine, and those that joined. */
export interface InstanceDirectory {
  /**
   * Dead ones included, oldest first. The identical array, of identical entries, until `onChange`
   * tells of a change.
   */
  readonly entries: readonly InstanceEntry[]
  /** Invalid records; they hide no other. The same array likewise. */
  readonly faults: readonly RecordFault[]
  /** Called after `entries` or `faults` changed, with the changes of entries. Returns the unsubscribe. */
  onChange(listener: (changes: InstanceChange[]) => void): () => void
  /** Resolves when nothing will be looked at or told any more. */
  close(): Promise<void>
}

/** One instance: what it says of itself, and what is known of its life. */
export interface InstanceEntry {
  readonly record: DirectoryRecord
  readonly verdict: Verdict
}

/**
 * What an instance says of itself. `joined` is absent for one that left its record on this machine;
 * the addresses of one that joined are those of another machine, and neither shown nor called.
 */
export type DirectoryRecord = Readonly<InstanceRecord & { joined?: JoinedAs }>

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

export interface InstanceChange {
  /** `changed`: its record or its verdict. `gone`: no entry any more. */
  readonly kind: 'appeared' | 'changed' | 'gone'
  /** Of one that is gone: how it ended, or was last known. */
  readonly entry: InstanceEntry
  readonly before: InstanceEntry | undefined
  /** It goes on, where others see it. */
  readonly isHidden?: true
}
