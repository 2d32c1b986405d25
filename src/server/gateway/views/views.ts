import { ServiceError } from '../../../lib/util/errors.ts'
import type { NodeHandler } from '../../http/app.ts'
import type { Viewer } from '../../http/authentication.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { EndpointActivity, McpEndpoint } from '../../mcp/endpoint.ts'
import type { View } from './view.ts'

/** Users whose view is kept. */
const maxViews = 1000
/** The view of a user without sessions, streams and calls is kept for this long. */
const viewIdleMs = 5 * 60_000

interface ViewsParts {
  /** What callers see who are no users, such as holders of the gateway's key. */
  readonly all: View
  readonly open: (viewer: Viewer) => View
  readonly maxViews?: number
  readonly now?: () => number
}

interface UserView {
  readonly view: View
  readonly team: string | null
  usedMs: number
}

/** One view for each user, shared by no other, and one of everything. */
export class Views implements McpEndpoint {
  readonly #parts: Required<ViewsParts>
  /** Least recently used first. */
  readonly #views = new Map<string, UserView>()

  constructor(parts: ViewsParts) {
    this.#parts = { maxViews, now: () => performance.now(), ...parts }
  }

  handle(...asked: Parameters<NodeHandler>): Promise<void> {
    return this.#viewOf(asked[2]).endpoint.handle(...asked)
  }

  async download(...asked: Parameters<NodeHandler>): Promise<void> {
    await this.#viewOf(asked[2]).download?.(...asked)
  }

  activity(): EndpointActivity {
    const sum = this.#parts.all.endpoint.activity()
    for (const { view } of this.#views.values()) {
      const { pendingCalls, sessions, streams, subscriptions } = view.endpoint.activity()
      sum.pendingCalls += pendingCalls
      sum.sessions += sessions
      sum.streams += streams
      sum.subscriptions += subscriptions
    }
    return sum
  }

  close(): void {
    this.#parts.all.close()
    for (const key of this.#views.keys()) this.#close(key)
  }

  #viewOf({ principal, viewer }: RequestContext): View {
    if (viewer === undefined) return this.#parts.all
    const { team, accountId } = viewer
    const key = JSON.stringify(accountId === null ? { principal } : { accountId })
    // One who comes back to a team finds nothing of the time between.
    if (this.#views.has(key) && this.#views.get(key)?.team !== team) this.#close(key)
    const user = this.#views.get(key) ?? this.#open(viewer)
    user.usedMs = this.#parts.now()
    this.#views.delete(key)
    this.#views.set(key, user)
    return user.view
  }

  #open(viewer: Viewer): UserView {
    const { open, now, maxViews: most } = this.#parts
    const idleSinceMs = now() - viewIdleMs
    for (const [key, user] of this.#views) {
      if (user.usedMs > idleSinceMs && this.#views.size < most) break
      if (!user.view.isInUse()) this.#close(key)
    }
    if (this.#views.size >= most) {
      throw new ServiceError('overloaded', 'too many users are connected; try again later')
    }
    return { view: open(viewer), team: viewer.team, usedMs: 0 }
  }

  #close(key: string): void {
    this.#views.get(key)?.view.close()
    this.#views.delete(key)
  }
}
