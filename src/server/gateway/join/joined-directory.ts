import type { GatewayLimits } from '../limits.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { Clock, Timer } from '../../../lib/util/time.ts'
import type { ChangeEmitter } from '../change-emitter.ts'
import type { InstanceTransport } from '../relay/transport.ts'
import { unreachable } from '../relay/relay-errors.ts'
import type { LinkClient } from './link-client.ts'
import type { ToldRecord } from './told-record.ts'

/** An instance whose link is lost stays listed for this long. */
export const joinLostMs = 5 * 60_000

interface JoinedDirectoryParts {
  /** The directory of all instances. */
  readonly directory: ChangeEmitter
  readonly limits: Pick<GatewayLimits, 'maxJoinsPerUser'>
  readonly clock: Clock
  readonly timer: Timer
}

interface Joining {
  readonly told: ToldRecord
  readonly client: LinkClient
  /** Called when the instance has opened a newer link. */
  readonly replaced: () => void
}

/** Changes the entry of an instance; without effect once it has opened a newer link. */
export interface Membership {
  /** Its record or its user has changed, the latter also while the link is lost. */
  change(told: ToldRecord): void
  /** The link is cut: the instance is stale until it joins again, or is gone. */
  lose(reason: string): void
  /** The instance is gone. */
  end(cause: string): void
}

interface Joined extends Omit<Joining, 'told'> {
  told: ToldRecord
  /** Why the link was lost, and when, by the clock of this process; null: it is open. */
  lost: { readonly reason: string; readonly atMs: number } | null
  cancelGone: () => void
}

/** The instances that joined this gateway. */
export class JoinedDirectory {
  readonly #parts: JoinedDirectoryParts
  readonly #linked = new Set<(instanceId: string) => void>()
  readonly #joined = new Map<string, Joined>()

  constructor(parts: JoinedDirectoryParts) {
    this.#parts = parts
  }

  /** Calls back when an instance has its link, or has it again. */
  onLinked(listener: (instanceId: string) => void): void {
    this.#linked.add(listener)
  }

  close(): void {
    for (const { cancelGone } of this.#joined.values()) cancelGone()
    this.#linked.clear()
  }

  /** Adds an instance whose link is open. Fails with why it cannot join, as a clause. */
  admit(joining: Joining): Result<Membership, string> {
    const { instanceId } = joining.told.record
    const refusal = this.#whyNot(instanceId, joining.told.principal.accountId)
    if (refusal !== null) return fail(refusal)
    const before = this.#joined.get(instanceId)
    before?.cancelGone()
    const joined: Joined = { ...joining, lost: null, cancelGone: () => {} }
    this.#joined.set(instanceId, joined)
    if (before?.lost === null) before.replaced()
    this.#show(joined)
    for (const listener of this.#linked) listener(instanceId)
    const isCurrent = () => this.#joined.get(instanceId) === joined
    return ok({
      change: told => {
        if (!isCurrent()) return
        joined.told = told
        this.#show(joined)
      },
      lose: reason => {
        if (isCurrent()) this.#lose(joined, reason)
      },
      end: cause => {
        if (isCurrent()) this.#gone(instanceId, cause)
      },
    })
  }

  /** Null: no such instance has joined. */
  transportOf(instanceId: string): InstanceTransport | null {
    if (!this.#joined.has(instanceId)) return null
    return { send: async (...asked) => this.#clientOf(instanceId).send(...asked), close() {} }
  }

  /** Throws a `ServiceError` while the instance cannot be reached. */
  #clientOf(instanceId: string): LinkClient {
    const joined = this.#joined.get(instanceId)
    if (joined === undefined) throw unreachable('it has left')
    if (joined.lost !== null) throw unreachable(`its link is lost: ${joined.lost.reason}`)
    return joined.client
  }

  #whyNot(instanceId: string, accountId: string): string | null {
    const { maxJoinsPerUser } = this.#parts.limits
    const known = this.#joined.get(instanceId)
    if (known !== undefined && known.told.principal.accountId !== accountId) {
      return 'its id is that of another user'
    }
    const own = [...this.#joined].filter(
      ([id, { told }]) => id !== instanceId && told.principal.accountId === accountId,
    )
    if (own.length < maxJoinsPerUser) return null
    return `the user has ${maxJoinsPerUser} instances, those with a lost link included`
  }

  #lose(joined: Joined, reason: string): void {
    const { clock, timer } = this.#parts
    const { instanceId } = joined.told.record
    joined.lost = { reason, atMs: clock.now() }
    joined.cancelGone = timer.after(joinLostMs, () => {
      this.#gone(instanceId, `its link was lost: ${reason}`)
    })
    this.#show(joined)
  }

  #gone(instanceId: string, cause: string): void {
    const joined = this.#joined.get(instanceId)
    if (joined === undefined) return
    joined.cancelGone()
    this.#joined.delete(instanceId)
    const { told, lost } = joined
    const heartbeatMs = lost?.atMs ?? this.#parts.clock.now()
    const verdict = { health: 'dead', reason: cause, heartbeatMs } as const
    this.#parts.directory.update([[instanceId, { ended: { record: told.record, verdict } }]])
  }

  #show({ told: { record }, lost }: Joined): void {
    const { clock } = this.#parts
    const verdict = Object.freeze({
      health: lost === null ? ('live' as const) : ('stale' as const),
      reason: lost === null ? 'its link is open' : `its link is lost: ${lost.reason}`,
      get heartbeatMs() {
        return lost === null ? clock.now() : lost.atMs
      },
    })
    const entry = Object.freeze({ record, verdict })
    this.#parts.directory.update([[record.instanceId, { entry }]])
  }
}
