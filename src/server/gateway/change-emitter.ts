import type { InstanceChange, InstanceEntry, RecordFault } from './instance-directory.ts'

/** What one source of instances says now. Neither entry nor fault: it is gone. */
export interface Finding {
  readonly entry?: InstanceEntry
  readonly fault?: RecordFault
  /** How an instance that is gone is to be told of; by default as it was last known. */
  readonly ended?: InstanceEntry
  /** It goes on, where others see it. */
  readonly isHidden?: true
}

type Listener = (changes: InstanceChange[]) => void

/** The entries and faults of a directory, and those who are told when they change. */
export class ChangeEmitter {
  readonly #findings = new Map<string, Finding>()
  readonly #listeners = new Set<Listener>()
  #entries: readonly InstanceEntry[] | null = null
  #faults: readonly RecordFault[] | null = null

  get entries(): readonly InstanceEntry[] {
    const all = () => [...this.#findings.values()].flatMap(({ entry }) => entry ?? [])
    return (this.#entries ??= Object.freeze(all().sort(byAge)))
  }

  get faults(): readonly RecordFault[] {
    const all = () => [...this.#findings.values()].flatMap(({ fault }) => fault ?? [])
    return (this.#faults ??= Object.freeze(all()))
  }

  /** What the source is now. */
  entryOf(source: string): InstanceEntry | undefined {
    return this.#findings.get(source)?.entry
  }

  onChange(listener: Listener): () => void {
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
    if (isFault) this.#faults = null
    else if (changes.length === 0) return
    for (const notify of this.#listeners) notify(changes)
  }
}

function byAge({ record: a }: InstanceEntry, { record: b }: InstanceEntry): number {
  if (a.started_at !== b.started_at) return a.started_at < b.started_at ? -1 : 1
  return a.instance_id < b.instance_id ? -1 : 1
}
