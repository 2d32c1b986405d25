import type { InstanceChange, InstanceEntry, RecordFault } from './instance-directory.ts'
import type { Logger } from '../../lib/util/logger.ts'

/** What one source of records says now: an entry, a fault, or neither. */
interface Finding {
  readonly entry: InstanceEntry | null
  readonly fault: RecordFault | null
}

export const nothing: Finding = { entry: null, fault: null }

/** What was told last: arrays that stay the same while nothing changes, and what changes them. */
export class DirectoryView {
  readonly #maxFaults: number
  readonly #told = new Map<string, Finding>()
  #entries: readonly InstanceEntry[] | null = []
  #faults: readonly RecordFault[] | null = []

  constructor(maxFaults: number) {
    this.#maxFaults = maxFaults
  }

  get entries(): readonly InstanceEntry[] {
    this.#entries ??= Object.freeze(this.#all('entry').sort(byAge))
    return this.#entries
  }

  get faults(): readonly RecordFault[] {
    this.#faults ??= Object.freeze(this.#boundedFaults())
    return this.#faults
  }

  entryOf(source: string): InstanceEntry | null {
    return this.#told.get(source)?.entry ?? null
  }

  /** Takes over what a source says now; returns what changed by it. */
  take(source: string, now: Finding): InstanceChange[] {
    const before = this.#told.get(source) ?? nothing
    if (before.entry === now.entry && before.fault === now.fault) return []
    if (now.entry === null && now.fault === null) this.#told.delete(source)
    else this.#told.set(source, { entry: now.entry, fault: now.fault })
    if (before.entry !== now.entry) this.#entries = null
    if (before.fault !== now.fault) this.#faults = null
    return [...entryChange(before.entry, now.entry), ...faultChange(before.fault, now.fault)]
  }

  #all<Kind extends keyof Finding>(kind: Kind): NonNullable<Finding[Kind]>[] {
    return Array.from(this.#told.values(), finding => finding[kind]).filter(one => one !== null)
  }

  #boundedFaults(): RecordFault[] {
    const all = this.#all('fault').sort((a, b) => (a.source < b.source ? -1 : 1))
    const more = all.length - this.#maxFaults
    if (more <= 0) return all
    const rest = { source: 'instances', reason: `${more} more records are not understood` }
    return [...all.slice(0, this.#maxFaults), rest]
  }
}

function entryChange(before: InstanceEntry | null, now: InstanceEntry | null): InstanceChange[] {
  if (before === now) return []
  if (now !== null) return [{ kind: before === null ? 'appeared' : 'changed', entry: now }]
  return before === null ? [] : [{ kind: 'gone', entry: before }]
}

function faultChange(before: RecordFault | null, now: RecordFault | null): InstanceChange[] {
  if (before === now) return []
  if (now !== null) return [{ kind: 'fault', fault: now }]
  return before === null ? [] : [{ kind: 'mended', fault: before }]
}

function byAge({ record: a }: InstanceEntry, { record: b }: InstanceEntry): number {
  return a.startedMs - b.startedMs || (a.instanceId < b.instanceId ? -1 : 1)
}

type Listener = (changes: InstanceChange[]) => void

/**
 * Notifies listeners of changes; a listener that throws is logged and does not affect the others.
 */
export class DirectoryNews {
  readonly #log: Logger
  readonly #listeners = new Set<{ readonly tell: Listener }>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** Returns the unsubscribe. */
  add(tell: Listener): () => void {
    const own = { tell }
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  tell(changes: InstanceChange[]): void {
    if (changes.length === 0) return
    for (const { tell } of this.#listeners) {
      try {
        tell(changes)
      } catch (error) {
        this.#log.error({ err: error }, 'a listener of the instance directory failed')
      }
    }
  }

  clear(): void {
    this.#listeners.clear()
  }
}
