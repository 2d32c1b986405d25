import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../../../lib/util/errors.ts'
import { type Clock, repeat, type Timer } from '../../../lib/util/time.ts'
import type { Viewer } from '../../http/authentication.ts'
import type { EndpointActivity, McpEndpoint } from '../../mcp/endpoint.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { View } from './view.ts'

interface ViewsParts {
  /** What callers see who are no users, such as holders of the gateway's key. */
  readonly all: View
  readonly open: (viewer: Viewer) => View
  readonly limits: { readonly maxViews: number; readonly viewIdleMs: number }
  readonly ticks: Clock
  readonly timer: Timer
}

/** What the views of one user share. */
interface User {
  readonly name: string
  downloads: number
}

interface UsersView {
  readonly view: View
  readonly viewer: Viewer
  readonly user: User
  usedMs: number
}

const sweepMs = 10_000
/** Downloads of one user at a time: slow ones fill the link that others read through. */
const maxDownloads = 16
/** Views of one user, whose tokens may have different schemes. */
const maxViewsOfUser = 8

/** One view for each user and set of schemes, shared by no other, and one of everything. */
export class Views implements McpEndpoint {
  readonly #parts: ViewsParts
  /** Least recently used first. */
  readonly #views = new Map<string, UsersView>()
  readonly #stopSweeps: () => void

  constructor(parts: ViewsParts) {
    this.#parts = parts
    this.#stopSweeps = repeat(parts.timer, sweepMs, async () => this.#sweep())
  }

  get size(): number {
    return this.#views.size
  }

  handle(req: IncomingMessage, res: ServerResponse, context: RequestContext): Promise<void> {
    return this.#viewOf(context).endpoint.handle(req, res, context)
  }

  async download(
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
  ): Promise<void> {
    const { download } = this.#viewOf(context)
    if (download === undefined) throw new ServiceError('route_not_found', 'nothing is served here')
    const user = this.#views.get(keyOf(context))?.user
    if (user !== undefined && user.downloads >= maxDownloads) {
      throw new ServiceError(
        'overloaded',
        `${maxDownloads} downloads of the user are open; end one`,
      )
    }
    if (user !== undefined) user.downloads++
    try {
      await download(req, res, context)
    } finally {
      if (user !== undefined) user.downloads--
    }
  }

  activity(): EndpointActivity {
    const all = this.#parts.all.endpoint.activity()
    const others = [...this.#views.values()].map(({ view }) => view.endpoint.activity())
    const sum = (of: (activity: EndpointActivity) => number) =>
      others.reduce((total, each) => total + of(each), of(all))
    return {
      pendingCalls: sum(({ pendingCalls }) => pendingCalls),
      tools: all.tools,
      sessions: sum(({ sessions }) => sessions),
      streams: sum(({ streams }) => streams),
      subscriptions: sum(({ subscriptions }) => subscriptions),
    }
  }

  close(): void {
    this.#stopSweeps()
    this.#parts.all.close()
    for (const { view } of this.#views.values()) view.close()
    this.#views.clear()
  }

  #viewOf(context: RequestContext): View {
    const { all, ticks } = this.#parts
    const { viewer } = context
    if (viewer === undefined) return all
    const key = keyOf(context)
    const known = this.#views.get(key)
    const isSameTeam = known?.viewer.team === viewer.team
    // One who comes back to a team finds nothing of the time between.
    if (known !== undefined && !isSameTeam) this.#close(key, known)
    const users =
      known !== undefined && isSameTeam ? known : this.#open(context, viewer, known?.user)
    users.usedMs = ticks.now()
    this.#views.delete(key)
    this.#views.set(key, users)
    return users.view
  }

  #open(context: RequestContext, viewer: Viewer, before?: User): UsersView {
    const { open, limits } = this.#parts
    const name = nameOf(context, viewer)
    const own = [...this.#views].filter(([, { user }]) => user.name === name)
    if (own.length >= maxViewsOfUser) {
      this.#makeRoom(own, 'tokens of the user with other schemes are in use; end their sessions')
    }
    if (this.#views.size >= limits.maxViews) {
      this.#makeRoom(this.#views, 'too many users are connected; try again later')
    }
    const known = before ?? own[0]?.[1].user
    const user = known ?? { name, downloads: 0 }
    return { view: open(viewer), viewer, user, usedMs: 0 }
  }

  /** Closes the view that was not used for the longest time. */
  #makeRoom(views: Iterable<[string, UsersView]>, refusal: string): void {
    for (const [key, users] of views) {
      if (isInUse(users)) continue
      this.#close(key, users)
      return
    }
    throw new ServiceError('overloaded', refusal)
  }

  #sweep(): void {
    const beforeMs = this.#parts.ticks.now() - this.#parts.limits.viewIdleMs
    for (const [key, users] of this.#views) {
      if (users.usedMs > beforeMs) return
      if (!isInUse(users)) this.#close(key, users)
    }
  }

  #close(key: string, { view }: UsersView): void {
    this.#views.delete(key)
    view.close()
  }
}

/** Another account, or other schemes: another view. */
function keyOf(context: RequestContext): string {
  const { viewer } = context
  return viewer === undefined ? '' : JSON.stringify([nameOf(context, viewer), viewer.schemes])
}

function nameOf({ principal }: RequestContext, { accountId }: Viewer): string {
  return JSON.stringify(accountId === null ? { principal } : { accountId })
}

function isInUse({ view, user }: UsersView): boolean {
  const { sessions, streams, pendingCalls } = view.endpoint.activity()
  return sessions + streams + pendingCalls + user.downloads > 0
}
