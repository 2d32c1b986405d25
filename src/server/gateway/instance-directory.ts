import type { JoinAccepted, Visibility } from '../../lib/instances/join-wire.ts'
import { byAge, type InstanceRecord } from '../../lib/instances/record.ts'

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

/** What one source of instances says now. Neither entry nor fault: it is gone. */
export interface Finding {
  readonly entry?: InstanceEntry
  readonly fault?: RecordFault
  /** How an instance that is gone is to be told of; by default as it was last known. */
  readonly ended?: InstanceEntry
  /** It goes on, where others see it. */
  readonly isHidden?: true
}

/** All known instances, alive or not: those of this machine, and those that joined. */
export class InstanceDirectory {
  readonly #findings = new Map<string, Finding>()
  readonly #listeners = new Set<(changes: InstanceChange[]) => void>()
  #entries: readonly InstanceEntry[] | null = null

  /**
   * Dead ones included, oldest first. The identical array, of identical entries, until `onChange`
   * tells of a change.
   */
  get entries(): readonly InstanceEntry[] {
    const all = () => [...this.#findings.values()].flatMap(({ entry }) => entry ?? [])
    return (this.#entries ??= Object.freeze(all().sort((a, b) => byAge(a.record, b.record))))
  }

  /** Invalid records; they hide no other. */
  get faults(): readonly RecordFault[] {
    return [...this.#findings.values()].flatMap(({ fault }) => fault ?? [])
  }

  /** What the source is now. */
  entryOf(source: string): InstanceEntry | undefined {
    return this.#findings.get(source)?.entry
  }

  /** Called after `entries` or `faults` changed, with the changes of entries. Returns the unsubscribe. */
  onChange(listener: (changes: InstanceChange[]) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Takes over what sources say now, and notifies listeners once of what changed by it. */
  update(findings: Iterable<readonly [source: string, finding: Finding]>): void {
    const changes: InstanceChange[] = []
    let isFault = false
    for (const [source, finding] of findings) {
      const { entry, fault, ended, isHidden } = finding
      const known = this.#findings.get(source)
      const before = known?.entry
      if (entry === undefined && fault === undefined) this.#findings.delete(source)
      else this.#findings.set(source, finding)
      if (before !== entry) {
        if (entry) changes.push({ kind: before ? 'changed' : 'appeared', entry, before })
        else if (before) changes.push({ kind: 'gone', entry: ended ?? before, before, isHidden })
      }
      isFault ||= known?.fault?.reason !== fault?.reason
    }
    if (changes.length > 0) this.#entries = null
    else if (!isFault) return
    for (const notify of this.#listeners) notify(changes)
  }
}
