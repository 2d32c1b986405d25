import type { Clock } from '../../../lib/util/time.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { DirectoryNews, DirectoryView, nothing } from '../directory-view.ts'
import type {
  DirectoryRecord,
  InstanceChange,
  InstanceEntry,
  RecordFault,
} from '../instance-directory.ts'

/** Why and when an instance lost its link, by the clock of this process. */
export interface LostLink {
  readonly reason: string
  readonly atMs: number
}

/** What is told of the instances that joined. */
export class JoinedView {
  readonly #clock: Clock
  readonly #view: DirectoryView
  readonly #news: DirectoryNews
  readonly #linked = new Set<(instanceId: string) => void>()

  constructor(parts: { readonly clock: Clock; readonly maxFaults: number; readonly log: Logger }) {
    this.#clock = parts.clock
    this.#view = new DirectoryView(parts.maxFaults)
    this.#news = new DirectoryNews(parts.log)
  }

  get entries(): readonly InstanceEntry[] {
    return this.#view.entries
  }

  get faults(): readonly RecordFault[] {
    return this.#view.faults
  }

  has(instanceId: string): boolean {
    return this.#view.entryOf(instanceId) !== null
  }

  onChange(listener: (changes: readonly InstanceChange[]) => void): () => void {
    return this.#news.add(listener)
  }

  onLinked(listener: (instanceId: string) => void): void {
    this.#linked.add(listener)
  }

  /** `lost`: null while the link is open. Returns the changes to tell. */
  show(record: DirectoryRecord, lost: LostLink | null): InstanceChange[] {
    const clock = this.#clock
    const verdict = Object.freeze({
      health: lost === null ? ('live' as const) : ('stale' as const),
      reason: lost === null ? 'its link is open' : `its link is lost: ${lost.reason}`,
      get heartbeatAgeMs() {
        return lost === null ? 0 : clock.now() - lost.atMs
      },
      get heartbeatMs() {
        return lost === null ? clock.now() : lost.atMs
      },
    })
    const entry = Object.freeze({ record, verdict })
    return this.#view.take(record.instanceId, { entry, fault: null })
  }

  fault(instanceId: string, fault: RecordFault): InstanceChange[] {
    return this.#view.take(instanceId, { entry: null, fault })
  }

  /** It is gone. */
  end(instanceId: string, cause: string): InstanceChange[] {
    return this.#view.take(instanceId, nothing).map(change => {
      if (change.kind !== 'gone') return change
      const { record, verdict } = change.entry
      const dead = { ...verdict, health: 'dead', reason: cause } as const
      return { kind: 'gone', entry: Object.freeze({ record, verdict: dead }) }
    })
  }

  tell(changes: readonly InstanceChange[]): void {
    this.#news.tell(changes)
  }

  tellLinked(instanceId: string): void {
    for (const listener of this.#linked) listener(instanceId)
  }

  clear(): void {
    this.#news.clear()
    this.#linked.clear()
  }
}

/** What is read of a directory that shows its instances in a view. */
export abstract class ViewedDirectory {
  protected readonly view: JoinedView

  constructor(view: JoinedView) {
    this.view = view
  }

  get entries() {
    return this.view.entries
  }

  get faults() {
    return this.view.faults
  }

  onChange(listener: (changes: readonly InstanceChange[]) => void): () => void {
    return this.view.onChange(listener)
  }

  onLinked(listener: (instanceId: string) => void): void {
    this.view.onLinked(listener)
  }
}
