import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Viewer } from '../../http/authentication.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { EndpointActivity, McpEndpoint } from '../../mcp/endpoint.ts'
import type { View } from './view.ts'

/** Users whose view is kept. */
const maxViews = 1000
/** The view of a user without sessions, streams and calls is kept for this long. */
const viewIdleMs = 5 * 60_000
/** Downloads of one user at a time: slow ones fill the link that others read through. */
const maxDownloads = 16

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
  downloads: number
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

  handle(req: IncomingMessage, res: ServerResponse, context: RequestContext): Promise<void> {
    const view = this.#viewOf(context)?.view ?? this.#parts.all
    return view.endpoint.handle(req, res, context)
  }

  async download(
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
  ): Promise<void> {
    const user = this.#viewOf(context)
    if (user === null) return this.#parts.all.download?.(req, res, context)
    if (user.downloads >= maxDownloads) {
      const message = `${maxDownloads} downloads of the user are open; end one`
      throw new ServiceError('overloaded', message)
    }
    user.downloads++
    try {
      await user.view.download?.(req, res, context)
    } finally {
      user.downloads--
    }
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

  /** Null: the caller is no user. */
  #viewOf({ principal, viewer }: RequestContext): UserView | null {
    if (viewer === undefined) return null
    const { team, accountId } = viewer
    const key = JSON.stringify(accountId === null ? { principal } : { accountId })
    // One who comes back to a team finds nothing of the time between.
    if (this.#views.has(key) && this.#views.get(key)?.team !== team) this.#close(key)
    const user = this.#views.get(key) ?? this.#open(viewer)
    user.usedMs = this.#parts.now()
    this.#views.delete(key)
    this.#views.set(key, user)
    return user
  }

  #open(viewer: Viewer): UserView {
    const { open, now, maxViews: most } = this.#parts
    const idleSinceMs = now() - viewIdleMs
    for (const [key, user] of this.#views) {
      if (user.usedMs > idleSinceMs && this.#views.size < most) break
      if (!isInUse(user)) this.#close(key)
    }
    if (this.#views.size >= most) {
      throw new ServiceError('overloaded', 'too many users are connected; try again later')
    }
    return { view: open(viewer), team: viewer.team, downloads: 0, usedMs: 0 }
  }

  #close(key: string): void {
    this.#views.get(key)?.view.close()
    this.#views.delete(key)
  }
}

function isInUse({ view, downloads }: UserView): boolean {
  const { sessions, streams, pendingCalls } = view.endpoint.activity()
  return sessions + streams + pendingCalls + downloads > 0
}
