import type { NodeHandler } from '../../http/app.ts'
import type { Viewer } from '../../http/authentication.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { EndpointActivity, McpEndpoint } from '../../mcp/endpoint.ts'
import type { View } from './view.ts'

/** One view for each user, shared by no other, and one of everything. */
export class Views implements McpEndpoint {
  readonly #all: View
  readonly #open: (viewer: Viewer) => View
  readonly #views = new Map<string, { view: View; team: string | null }>()

  /** `all`: what callers see who are no users, such as holders of the gateway's key. */
  constructor(all: View, open: (viewer: Viewer) => View) {
    this.#all = all
    this.#open = open
  }

  handle(...asked: Parameters<NodeHandler>): Promise<void> {
    return this.#viewOf(asked[2]).endpoint.handle(...asked)
  }

  async download(...asked: Parameters<NodeHandler>): Promise<void> {
    await this.#viewOf(asked[2]).download?.(...asked)
  }

  activity(): EndpointActivity {
    const sum = this.#all.endpoint.activity()
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
    this.#all.close()
    for (const { view } of this.#views.values()) view.close()
  }

  #viewOf({ principal, viewer }: RequestContext): View {
    if (viewer === undefined) return this.#all
    const { team, accountId } = viewer
    const key = JSON.stringify(accountId === null ? { principal } : { accountId })
    const known = this.#views.get(key)
    if (known?.team === team) return known.view
    // One who comes back to a team finds nothing of the time between.
    known?.view.close()
    const view = this.#open(viewer)
    this.#views.set(key, { view, team })
    return view
  }
}
