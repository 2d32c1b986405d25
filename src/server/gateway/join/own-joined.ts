import type { JoinLimits } from '../../../lib/config/join-limits.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { Clock, Timer } from '../../../lib/util/time.ts'
import { unreachable } from '../relay/relay-errors.ts'
import {
  admissionRefusals,
  type JoinedDirectory,
  type Joining,
  maxIdsPerAccount,
  type Membership,
} from './joined-directory.ts'
import { JoinedView, type LostLink } from './joined-view.ts'
import type { LinkClient } from './link-client.ts'
import type { ToldRecord } from './told-record.ts'

interface OwnJoinedParts {
  readonly limits: Pick<JoinLimits, 'maxJoinsPerUser' | 'joinLostMs'>
  readonly clock: Clock
  readonly timer: Timer
  readonly log: Logger
}

interface Joined extends Omit<Joining, 'told'> {
  told: ToldRecord
  lost: LostLink | null
  cancelGone: () => void
}

/** The instances that joined this gateway, which shares them with no other. */
export class OwnJoined extends JoinedView implements JoinedDirectory {
  readonly #parts: OwnJoinedParts
  readonly #owners = new IdOwners()
  readonly #joined = new Map<string, Joined>()
  readonly unavailable = null

  constructor(parts: OwnJoinedParts) {
    super({ ...parts, maxFaults: 0 })
    this.#parts = parts
  }

  /** Does nothing: every change is told at once. */
  async refresh(): Promise<void> {}

  async close(): Promise<void> {
    for (const { cancelGone } of this.#joined.values()) cancelGone()
    this.clear()
  }

  async admit(joining: Joining): Promise<Result<Membership, string>> {
    const { instanceId } = joining.told.record
    const refusal = this.#whyNot(instanceId, joining.told.principal.accountId)
    if (refusal !== null) return fail(refusal)
    const before = this.#joined.get(instanceId)
    before?.cancelGone()
    const joined: Joined = { ...joining, lost: null, cancelGone: () => {} }
    this.#joined.set(instanceId, joined)
    if (before?.lost === null) before.replaced()
    this.tell(this.show(joined.told.record, null))
    this.tellLinked(instanceId)
    const isCurrent = () => this.#joined.get(instanceId) === joined
    return ok({
      change: told => {
        if (!isCurrent()) return
        joined.told = told
        this.tell(this.show(told.record, joined.lost))
      },
      lose: reason => {
        if (isCurrent()) this.#lose(joined, reason)
      },
      end: cause => {
        if (isCurrent()) this.#gone(instanceId, cause)
      },
    })
  }

  protected override clientOf(instanceId: string): LinkClient {
    const joined = this.#joined.get(instanceId)
    if (joined === undefined) throw unreachable('it has left')
    if (joined.lost !== null) throw unreachable(`its link is lost: ${joined.lost.reason}`)
    return joined.client
  }

  #whyNot(instanceId: string, accountId: string): string | null {
    const { maxJoinsPerUser } = this.#parts.limits
    if (!this.#owners.claim(instanceId, accountId)) return admissionRefusals.foreignId
    const own = [...this.#joined].filter(
      ([id, { told }]) => id !== instanceId && told.principal.accountId === accountId,
    )
    return own.length < maxJoinsPerUser ? null : admissionRefusals.tooMany(maxJoinsPerUser)
  }

  #lose(joined: Joined, reason: string): void {
    const { clock, limits, timer } = this.#parts
    const { instanceId } = joined.told.record
    joined.lost = { reason, atMs: clock.now() }
    joined.cancelGone = timer.after(limits.joinLostMs, () => {
      this.#gone(instanceId, `its link was lost: ${reason}`)
    })
    this.tell(this.show(joined.told.record, joined.lost))
  }

  #gone(instanceId: string, cause: string): void {
    this.#joined.get(instanceId)?.cancelGone()
    this.#joined.delete(instanceId)
    this.tell(this.end(instanceId, cause))
  }
}

/** An instance id belongs to the account that first used it, for as long as this gateway runs. */
class IdOwners {
  readonly #owners = new Map<string, string>()
  /** Oldest first. */
  readonly #ids = new Map<string, Set<string>>()

  /** Returns false when another account has the id. */
  claim(id: string, accountId: string): boolean {
    const owner = this.#owners.get(id)
    if (owner !== undefined) return owner === accountId
    const ids = this.#ids.get(accountId) ?? new Set()
    this.#ids.set(accountId, ids.add(id))
    this.#owners.set(id, accountId)
    const [oldest] = ids
    // An account that uses many ids loses its own, and no other account's.
    if (ids.size > maxIdsPerAccount && oldest !== undefined) {
      ids.delete(oldest)
      this.#owners.delete(oldest)
    }
    return true
  }
}
