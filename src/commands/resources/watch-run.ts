import { openLiveLines } from '../../lib/cli/live-lines.ts'
import {
  createFollower,
  type Follower,
  type Look,
  type State,
} from '../../lib/mcp-client/follower.ts'
import { readResource } from '../../lib/mcp-client/resources.ts'
import { createSceneFollower, isScene } from '../../lib/mcp-client/scene-follower.ts'
import type { McpSession } from '../../lib/mcp-client/session.ts'
import { watchResource } from '../../lib/mcp-client/watch.ts'
import { shownUrl } from '../../lib/stdio-bridge/target.ts'
import { systemTimer } from '../../lib/timer.ts'
import { ServiceError } from '../../lib/errors.ts'
import { type Client, type ClientFlags, withClient } from './client.ts'
import { checkUri, withNearest } from './read-run.ts'
import { clockText, isNews, lookLines, stateText } from './watch-lines.ts'

export interface WatchFlags extends ClientFlags {
  interval: number
}

/** Schemes of ours whose changes are never announced (docs/protocol.md). */
const silent = /^(?:events|capture|artefact):|^resources:\/\/gateway\/events/
const defaultColumns = 120

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
  readonly view: View
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
            const missing = new ServiceError('resource_not_found', `there is no resource ${uri}`)
            throw await withNearest(missing, uri, session, client)
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

/** How a watch is shown. */
interface View {
  begins(url: URL, state: State): void
  changed(look: Look, updates: number): void
  again(url: URL, state: State, awayMs: number): void
}

type Write = (line: string) => void

function screenView(uri: string, write: Write): View {
  const line = (text: string) => write(`${clockText(new Date())}  ${text}\n`)
  return {
    begins(url, state) {
      line(`watching ${uri} at ${shownUrl(url)} (${stateText(state)}); Ctrl-C ends`)
    },
    changed(look, updates) {
      const width = process.stdout.columns ?? defaultColumns
      write(`${lookLines(look, updates, new Date(), width).join('\n')}\n`)
    },
    again(url, state, awayMs) {
      const away = (awayMs / 1000).toFixed(1)
      line(
        `the server was away for ${away} s; watching again at ${shownUrl(url)} (${stateText(state)})`,
      )
    },
  }
}

function jsonView(uri: string, write: Write): View {
  const line = (event: string, more: object) => {
    write(`${JSON.stringify({ event, time: new Date().toISOString(), uri, ...more })}\n`)
  }
  return {
    begins: (url, state) => line('watching', { url: shownUrl(url), ...facts(state) }),
    changed(look, updates) {
      const { difference, before, after } = look
      const base = before.kind === 'json' ? before.revision : null
      const revisions = base === null ? {} : { base_revision: base }
      const shown = difference.kind === 'json' ? withoutLabels(difference) : difference
      line('changed', { updates, ...revisions, ...facts(after), difference: shown })
    },
    again(url, state, awayMs) {
      line('reconnected', { url: shownUrl(url), away_ms: Math.round(awayMs), ...facts(state) })
    },
  }
}

function withoutLabels({
  kind,
  changes,
  truncated,
}: Look['difference'] & { kind: 'json' }): object {
  return { kind, changes, truncated }
}

function facts(state: State): object {
  if (state.kind === 'json') return state.revision === null ? {} : { revision: state.revision }
  if (state.kind === 'binary') {
    return { mime: state.mimeType, size_bytes: state.bytes, sha256: state.digest }
  }
  return state.kind === 'none' ? { missing: true } : {}
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
