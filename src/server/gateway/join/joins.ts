import { joinLostMs } from './joined-directory.ts'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { AcceptedLink, type AcceptedLinkParts } from './accepted-link.ts'
import type { JoinPrincipal, JoinTokens } from './join-tokens.ts'

interface JoinsParts extends Omit<AcceptedLinkParts, 'joined'> {
  readonly tokens: Pick<JoinTokens, 'watch'>
}

/** The links that instances opened to this gateway. */
export class Joins {
  readonly #parts: JoinsParts
  readonly #links = new Set<AcceptedLink>()
  /** By the id of an instance whose link is lost: ends the watch of its token. */
  readonly #lost = new Map<string, () => void>()
  #isClosed = false

  constructor(parts: JoinsParts) {
    this.#parts = parts
  }

  /** Links that are open. */
  get links(): number {
    return this.#links.size
  }

  /** Why no further link of the principal is accepted, as a clause; null when it is. */
  whyFull({ accountId }: JoinPrincipal): string | null {
    const { maxJoinLinks, maxJoinsPerUser } = this.#parts.limits
    if (this.#links.size >= maxJoinLinks) return `${maxJoinLinks} links are open`
    const own = [...this.#links].filter(link => link.accountId === accountId)
    return own.length < maxJoinsPerUser ? null : `the user has ${maxJoinsPerUser} links`
  }

  /** Takes over a link. Call it in the event in which the WebSocket opens (see `LinkSocket`). */
  accept(ws: WebSocket, socket: Socket, token: string, principal: JoinPrincipal): void {
    const joined = (instanceId: string) => this.#lost.get(instanceId)?.()
    const link = new AcceptedLink({ ...this.#parts, joined }, ws, socket, principal)
    this.#links.add(link)
    const unwatch = this.#parts.tokens.watch(token, now =>
      now.ok ? link.rename(now.value) : link.revoke(),
    )
    void link.ended.then(end => {
      this.#links.delete(link)
      const lostId = this.#isClosed ? null : link.leave(end)
      if (lostId === null) unwatch()
      else this.#watchLost(lostId, unwatch)
    })
    link.follow()
  }

  /** Tells the instances that the gateway stops, so that they join the next one. */
  endLinks(): void {
    this.#isClosed = true
    for (const link of this.#links) link.stop()
  }

  async close(): Promise<void> {
    this.endLinks()
    for (const stop of this.#lost.values()) stop()
    await Promise.all([...this.#links].map(link => link.ended))
  }

  /** Watches the token of a lost link for as long as its instance is stale. */
  #watchLost(instanceId: string, unwatch: () => void): void {
    const stop = (): void => {
      cancel()
      unwatch()
      this.#lost.delete(instanceId)
    }
    const { timer } = this.#parts
    const cancel = timer.after(joinLostMs, stop)
    this.#lost.get(instanceId)?.()
    this.#lost.set(instanceId, stop)
  }
}
