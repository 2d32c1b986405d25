import type { Viewer } from '../../http/authentication.ts'
import type {
  InstanceChange,
  InstanceDirectory,
  InstanceEntry,
  RecordFault,
} from '../instance-directory.ts'

const none: readonly RecordFault[] = Object.freeze([])

/**
 * The instances that one user may see, as a directory: those that are theirs, their team's, or for
 * all. Those of the gateway's own machine are for holders of its key. One that is hidden is gone, as
 * the user last saw it.
 */
export class VisibleInstances implements InstanceDirectory {
  readonly faults = none
  readonly #all: InstanceDirectory
  readonly #viewer: Viewer
  readonly #listeners = new Set<(changes: InstanceChange[]) => void>()
  readonly #stop: () => void
  /** As the user was last told of them. */
  readonly #seen: Map<string, InstanceEntry>
  #entries: readonly InstanceEntry[] = Object.freeze([])
  #of: readonly InstanceEntry[] | null = null

  constructor(all: InstanceDirectory, viewer: Viewer) {
    this.#all = all
    this.#viewer = viewer
    this.#seen = new Map(this.entries.map(entry => [entry.record.instanceId, entry]))
    this.#stop = all.onChange(changes => {
      const seen = changes.flatMap(change => this.#seenOf(change))
      if (seen.length === 0) return
      for (const notify of this.#listeners) notify(seen)
    })
  }

  get entries(): readonly InstanceEntry[] {
    const all = this.#all.entries
    if (all === this.#of) return this.#entries
    this.#of = all
    const visible = all.filter(entry => sees(this.#viewer, entry))
    const before = this.#entries
    const isSame =
      visible.length === before.length && visible.every((entry, at) => entry === before[at])
    if (!isSame) this.#entries = Object.freeze(visible)
    return this.#entries
  }

  has(instanceId: string): boolean {
    return this.#seen.has(instanceId)
  }

  onChange(listener: (changes: InstanceChange[]) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async refresh(): Promise<void> {
    await this.#all.refresh()
  }

  /** The directory of all goes on. */
  async close(): Promise<void> {
    this.#stop()
    this.#listeners.clear()
  }

  #seenOf(change: InstanceChange): readonly InstanceChange[] {
    if (!('entry' in change)) return []
    const { kind, entry } = change
    const { instanceId } = entry.record
    const before = this.#seen.get(instanceId)
    if (kind !== 'gone' && sees(this.#viewer, entry)) {
      this.#seen.set(instanceId, entry)
      return [{ kind: before === undefined ? 'appeared' : 'changed', entry }]
    }
    if (before === undefined) return []
    this.#seen.delete(instanceId)
    // Also why it ended.
    if (kind === 'gone') return [{ kind, entry: { ...before, verdict: entry.verdict } }]
    return [{ kind: 'gone', entry: before, isHidden: true }]
  }
}

function sees(viewer: Viewer, { record: { joined } }: InstanceEntry): boolean {
  if (joined === null) return false
  if (joined.visibility === 'all' || joined.accountId === viewer.accountId) return true
  return joined.visibility === 'team' && joined.team !== null && joined.team === viewer.team
}
