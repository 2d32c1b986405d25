import { shortId } from '../../../lib/instances/select-instance.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { type Clock, toRfc3339 } from '../../../lib/util/time.ts'
import type { InstanceDirectory, InstanceEntry } from '../instance-directory.ts'

/** Instances that ended and are remembered, so that readers are told. */
const maxEnded = 1000

interface Ended {
  readonly entry: InstanceEntry
  readonly lastSeenMs: number
  readonly cause: string
}

interface EndedParts {
  readonly directory: InstanceDirectory
  readonly clock: Clock
}

/** What became of the instances that run no more, also of those that left no record. */
export class EndedInstances {
  readonly #parts: EndedParts
  readonly #removed = new Map<string, Ended>()

  constructor(parts: EndedParts) {
    this.#parts = parts
  }

  /** Ids of instances without a record. */
  get ids(): Iterable<string> {
    return this.#removed.keys()
  }

  /** Whether its record was removed. */
  has(instanceId: string): boolean {
    return this.#removed.has(instanceId)
  }

  /** Its record was removed. */
  remember(entry: InstanceEntry): void {
    const cause = 'its record was removed, as by an instance that stops'
    const stopped = { entry, lastSeenMs: this.#parts.clock.now(), cause }
    this.#removed.set(entry.record.instanceId, this.#whenDead(entry) ?? stopped)
    const [oldest] = this.#removed.keys()
    if (this.#removed.size > maxEnded && oldest !== undefined) this.#removed.delete(oldest)
  }

  /** True: it was thought to have ended, and its record is back. */
  forget(instanceId: string): boolean {
    return this.#removed.delete(instanceId)
  }

  /** The error for the readers of `uri`; null: it has not ended. */
  errorOf(instanceId: string, uri = `gateway://instances/${instanceId}`): ServiceError | null {
    const ended = this.#find(instanceId)
    if (ended === null) return null
    const { entry, lastSeenMs, cause } = ended
    const seen = toRfc3339(lastSeenMs)
    const message = `${labelOf(entry)} (${shortId(instanceId)}) has ended; last seen: ${seen}; cause: ${cause}`
    return new ServiceError('resource_not_found', message, {
      hint: 'gateway://instances has those that run',
      data: { uri, reason: 'instance_gone', instance_id: instanceId, last_seen: seen, cause },
    })
  }

  #find(instanceId: string): Ended | null {
    const { entries } = this.#parts.directory
    const entry = entries.find(({ record }) => record.instanceId === instanceId)
    return entry === undefined ? (this.#removed.get(instanceId) ?? null) : this.#whenDead(entry)
  }

  #whenDead(entry: InstanceEntry): Ended | null {
    const { health, heartbeatMs, reason: cause } = entry.verdict
    if (health !== 'dead') return null
    return { entry, lastSeenMs: Math.min(heartbeatMs, this.#parts.clock.now()), cause }
  }
}

/** For people and models. */
export function labelOf({ record }: InstanceEntry): string {
  const { dccType, displayName, scene } = record
  return [dccType, displayName, scene].filter(Boolean).join(', ')
}
