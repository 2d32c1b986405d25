import { openLiveLines } from '../../lib/cli/live-lines.ts'
import { createFollower, type Follower } from '../../lib/mcp-client/follower.ts'
import { readResource } from '../../lib/mcp-client/resources.ts'
import { createSceneFollower, isScene } from '../../lib/mcp-client/scene-follower.ts'
import type { McpSession } from '../../lib/mcp-client/session.ts'
import { watchResource } from '../../lib/mcp-client/watch.ts'
import { systemTimer } from '../../lib/timer.ts'
import { type Client, type ClientFlags, withClient } from './client.ts'
import { checkUri, withNearest } from './uri-argument.ts'
import { isNews } from './watch-lines.ts'
import { jsonView, screenView, type WatchView } from './watch-views.ts'

export interface WatchFlags extends ClientFlags {
  interval: number
}

/** Schemes of ours whose changes are never announced (docs/protocol.md). */
const silent = /^(?:events|capture|artefact):|^resources:\/\/gateway\/events/

/** Prints what changes until a signal, or until nobody reads any more. */
export async function runWatch(
  uri: string,
  flags: WatchFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  checkUri(uri)
  const { json } = flags
  await withClient(flags, env, async client => {
    const lines = openLiveLines(dropped => (json ? '' : `(${dropped} lines left out)\n`))
    try {
      const view = json ? jsonView(uri, lines.write) : screenView(uri, lines.write)
      await watch(uri, flags, { client, view, over: lines.over })
    } finally {
      await lines.close()
    }
  })
}

interface Parts {
  readonly client: Client
  readonly view: WatchView
  readonly over: AbortSignal
}

function watch(
  uri: string,
  { interval }: WatchFlags,
  { client, view, over }: Parts,
): Promise<void> {
  const { locate, open, output } = client
  const status = statusLine()
  let lostMs = 0
  let follower: Follower
  const reader = (session: McpSession, signal: AbortSignal) => async (wanted: string) =>
    (await readResource(session, wanted, signal)).contents
  return watchResource(
    {
      ...{ locate, open, uri, minIntervalMs: interval, timer: systemTimer, random: Math.random },
      hooks: {
        async stands(session, again, signal) {
          follower = isScene(uri) ? createSceneFollower() : createFollower(uri)
          const state = await follower.start(reader(session, signal))
          status.clear()
          if (again) return view.again(session.url, state, performance.now() - lostMs)
          if (state.kind === 'none' && !isScene(uri)) {
            // The server may know what is to be done.
            await readResource(session, uri, signal).catch(async (error: unknown) => {
              throw await withNearest(error, uri, session, client)
            })
          }
          if (silent.test(uri)) {
            output.warn(`servers never announce changes of ${uri.split(':', 1)[0]}:// resources`)
          }
          view.begins(session.url, state)
        },
        async changed(session, updates, signal) {
          const look = await follower.look(reader(session, signal))
          if (isNews(look)) view.changed(look, updates)
        },
        away(reason) {
          lostMs = performance.now()
          status.show(`connection lost (${reason}); waiting for the server …`)
        },
      },
    },
    over,
  ).finally(() => status.clear())
}

/** On a terminal only: a line that goes away again. */
function statusLine(): { show(text: string): void; clear(): void } {
  const isTTY = process.stderr.isTTY && process.stdout.isTTY && process.env.TERM !== 'dumb'
  let shown = false
  return {
    show(text) {
      if (!isTTY) return
      shown = true
      process.stderr.write(`\r${text.slice(0, (process.stderr.columns ?? 80) - 1)}\u001b[K`)
    },
    clear() {
      if (shown) process.stderr.write('\r\u001b[K')
      shown = false
    },
  }
}
