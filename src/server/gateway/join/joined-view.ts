import type { HttpAsker } from '../../../lib/mcp/bridge/http-link.ts'
import type { Clock } from '../../../lib/util/time.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { DirectoryNews, DirectoryView, nothing } from '../directory-view.ts'
import type {
  DirectoryRecord,
  InstanceChange,
  InstanceEntry,
  RecordFault,
} from '../instance-directory.ts'
import type { InstanceTransport, ReadSender } from '../relay/instance-transport.ts'
import { linkUrl } from './link-client.ts'

/** Why an instance lost its link, and when, by the clock of this process. */
export interface LostLink {
  readonly reason: string
  readonly atMs: number
}

/** The part of a `JoinedDirectory` that lists instances and notifies listeners. */
export abstract class JoinedView {
  readonly #clock: Clock
  readonly #view: DirectoryView
  readonly #news: DirectoryNews
  readonly #linked = new Set<(instanceId: string) => void>()

  constructor(parts: { clock: Clock; maxFaults: number; log: Logger }) {
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

  onChange(listener: (changes: InstanceChange[]) => void): () => void {
    return this.#news.add(listener)
  }

  onLinked(listener: (instanceId: string) => void): void {
    this.#linked.add(listener)
  }

  /** Null: no such instance has joined. */
  transportOf(instanceId: string): InstanceTransport | null {
    if (this.#view.entryOf(instanceId) === null) return null
    const client = () => this.clientOf(instanceId)
    return { url: linkUrl, asker: client, reads: client, refused() {}, close() {} }
  }

  /** Throws a `ServiceError` while the instance cannot be reached. */
  protected abstract clientOf(instanceId: string): HttpAsker & ReadSender

  /** Lists an instance; `lost` is null while its link is open. Returns the changes to tell. */
  protected show(record: DirectoryRecord, lost: LostLink | null): InstanceChange[] {
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

  /** Lists an invalid record in place of its instance. */
  protected fault(instanceId: string, fault: RecordFault): InstanceChange[] {
    return this.#view.take(instanceId, { entry: null, fault })
  }

  /** The instance is gone. */
  protected end(instanceId: string, cause: string): InstanceChange[] {
    return this.#view.take(instanceId, nothing).map(change => {
      if (change.kind !== 'gone') return change
      const { record, verdict } = change.entry
      const dead = { ...verdict, health: 'dead', reason: cause } as const
      return { kind: 'gone', entry: Object.freeze({ record, verdict: dead }) }
    })
  }

  protected tell(changes: InstanceChange[]): void {
    this.#news.tell(changes)
  }

  protected tellLinked(instanceId: string): void {
    for (const listener of this.#linked) listener(instanceId)
  }

  protected clear(): void {
    this.#news.clear()
    this.#linked.clear()
  }
}
