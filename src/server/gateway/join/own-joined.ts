import type { JoinLimits } from '../../../lib/config/join-limits.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { Clock, Timer } from '../../../lib/util/time.ts'
import type { InstanceTransport } from '../relay/instance-transport.ts'
import { unreachable } from '../relay/relay-errors.ts'
import { IdOwners } from './id-owners.ts'
import { JoinedView, type LostLink, ViewedDirectory } from './joined-view.ts'
import { type JoinedDirectory, type Joining, linkUrl, type Membership } from './joined-directory.ts'
import type { LinkClient } from './link-client.ts'
import type { ToldRecord } from './record-lines.ts'

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
export class OwnJoined extends ViewedDirectory implements JoinedDirectory {
  readonly #parts: OwnJoinedParts
  readonly #owners = new IdOwners()
  readonly #joined = new Map<string, Joined>()
  readonly unavailable = null

  constructor(parts: OwnJoinedParts) {
    super(new JoinedView({ ...parts, maxFaults: 0 }))
    this.#parts = parts
  }

  /** All that is known is told at once. */
  async refresh(): Promise<void> {}

  async close(): Promise<void> {
    for (const { cancelGone } of this.#joined.values()) cancelGone()
    this.view.clear()
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
    this.view.tell(this.view.show(joined.told.record, null))
    this.view.tellLinked(instanceId)
    const isCurrent = () => this.#joined.get(instanceId) === joined
    return ok({
      change: told => {
        if (!isCurrent()) return
        joined.told = told
        this.view.tell(this.view.show(told.record, joined.lost))
      },
      lose: reason => {
        if (isCurrent()) this.#lose(joined, reason)
      },
      end: cause => {
        if (isCurrent()) this.#end(instanceId, cause)
      },
    })
  }

  transportOf(instanceId: string): InstanceTransport | null {
    if (!this.#joined.has(instanceId)) return null
    const client = (): LinkClient => {
      const joined = this.#joined.get(instanceId)
      if (joined === undefined) throw unreachable('it has left')
      if (joined.lost !== null) throw unreachable(`its link is lost: ${joined.lost.reason}`)
      return joined.client
    }
    return { url: linkUrl, asker: client, reads: client, refused() {}, close() {} }
  }

  #whyNot(instanceId: string, accountId: string): string | null {
    const { maxJoinsPerUser } = this.#parts.limits
    if (!this.#owners.claim(instanceId, accountId)) return 'its id is that of another user'
    const own = [...this.#joined].filter(
      ([id, { told }]) => id !== instanceId && told.principal.accountId === accountId,
    )
    return own.length < maxJoinsPerUser ? null : tooManyInstances(maxJoinsPerUser)
  }

  #lose(joined: Joined, reason: string): void {
    const { clock, limits, timer } = this.#parts
    const { instanceId } = joined.told.record
    joined.lost = { reason, atMs: clock.now() }
    joined.cancelGone = timer.after(limits.joinLostMs, () => {
      this.#end(instanceId, `its link was lost: ${reason}`)
    })
    this.view.tell(this.view.show(joined.told.record, joined.lost))
  }

  #end(instanceId: string, cause: string): void {
    this.#joined.get(instanceId)?.cancelGone()
    this.#joined.delete(instanceId)
    this.view.tell(this.view.end(instanceId, cause))
  }
}

export function tooManyInstances(most: number): string {
  return `the user has ${most} instances, those with a lost link included`
}
