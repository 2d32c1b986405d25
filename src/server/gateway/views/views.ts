import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../../../lib/util/errors.ts'
import { type Clock, repeat, type Timer } from '../../../lib/util/time.ts'
import type { Viewer } from '../../http/authentication.ts'
import type { EndpointActivity, McpEndpoint } from '../../mcp/endpoint.ts'
import type { RequestContext } from '../../mcp/request-context.ts'
import type { View } from './view.ts'

interface ViewsParts {
  /** What callers see who are no users, such as holders of the gateway's key. */
  readonly all: View
  readonly open: (viewer: Viewer) => View
  readonly limits: { readonly maxViews: number; readonly viewIdleMs: number }
  readonly ticks: Clock
  readonly timer: Timer
}

interface UsersView {
  readonly view: View
  readonly viewer: Viewer
  downloads: number
  usedMs: number
}

const sweepMs = 10_000
/** Of one user at the same time: those of slow readers fill the link that others read through. */
const maxDownloads = 16

/** One view for each user, shared by no other, and one of everything. */
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

  handle(req: IncomingMessage, res: ServerResponse, notes: RequestContext): void | Promise<void> {
    return this.#viewOf(notes).endpoint.handle(req, res, notes)
  }

  async download(
    req: IncomingMessage,
    res: ServerResponse,
    path: string,
    notes: RequestContext,
  ): Promise<void> {
    const { download } = this.#viewOf(notes)
    if (download === undefined) throw new ServiceError('route_not_found', 'nothing is served here')
    const users = this.#views.get(keyOf(notes))
    if (users !== undefined && users.downloads >= maxDownloads) {
      throw new ServiceError(
        'overloaded',
        `${maxDownloads} downloads of the user are open; end one`,
      )
    }
    if (users !== undefined) users.downloads++
    try {
      await download(req, res, path)
    } finally {
      if (users !== undefined) users.downloads--
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
      subscribers: sum(({ subscribers }) => subscribers),
    }
  }

  endWaits(): void {
    this.#parts.all.endpoint.endWaits()
    for (const { view } of this.#views.values()) view.endpoint.endWaits()
  }

  close(): void {
    this.#stopSweeps()
    this.#parts.all.close()
    for (const { view } of this.#views.values()) view.close()
    this.#views.clear()
  }

  #viewOf(notes: RequestContext): View {
    const { all, open, limits, ticks } = this.#parts
    const { viewer } = notes
    if (viewer === undefined) return all
    const key = keyOf(notes)
    let known = this.#views.get(key)
    // One who comes back to a team finds nothing of the time between.
    if (known !== undefined && known.viewer.team !== viewer.team) {
      this.#close(key, known)
      known = undefined
    }
    if (known === undefined && this.#views.size >= limits.maxViews) this.#makeRoom()
    const users = known ?? { view: open(viewer), viewer, downloads: 0, usedMs: 0 }
    users.usedMs = ticks.now()
    this.#views.delete(key)
    this.#views.set(key, users)
    return users.view
  }

  #makeRoom(): void {
    for (const [key, users] of this.#views) {
      if (isInUse(users)) continue
      this.#close(key, users)
      return
    }
    throw new ServiceError('overloaded', 'too many users are connected; try again later')
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
function keyOf({ viewer, principal }: RequestContext): string {
  if (viewer === undefined) return ''
  const { accountId, schemes } = viewer
  return JSON.stringify([accountId, accountId === null ? principal : null, schemes])
}

function isInUse({ view, downloads }: UsersView): boolean {
  const { sessions, streams, pendingCalls } = view.endpoint.activity()
  return sessions + streams + pendingCalls + downloads > 0
}
