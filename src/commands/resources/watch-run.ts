import { openLiveLines } from '../../lib/cli/live-lines.ts'
import { createEventFollower, type EventNews } from '../../lib/mcp/client/event-follower.ts'
import { createFollower, type Follower } from '../../lib/mcp/client/follower.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'
import { createSceneFollower, isScene } from '../../lib/mcp/client/scene-follower.ts'
import type { McpSession } from '../../lib/mcp/client/context.ts'
import { type Absence, watchResource } from '../../lib/mcp/client/watch.ts'
import { usage } from '../../lib/util/errors.ts'
import { systemTimer } from '../../lib/util/time.ts'
import { type Client, type ClientFlags, withClient } from './client.ts'
import { checkUri, withNearest } from './uri-argument.ts'
import { clockText, isNews } from './watch-lines.ts'
import {
  awayText,
  jsonView,
  newEntries,
  noteTo,
  screenView,
  type WatchView,
} from './watch-views.ts'
import { asText, cleanText, jsonLine } from '../../lib/util/text.ts'
import type { JsonObject } from '../../lib/util/json.ts'
import { shownUrl } from '../../lib/mcp/bridge/context.ts'

interface WatchFlags extends ClientFlags {
  settle?: string
}

/** Never announced (docs/protocol.md), but small enough to poll. */
const polled = /^resources:\/\/gateway\/events/
/** Entries are added at one end and dropped at the other. */
const isLog = /^audit:\/\/recent/i
/** Never announced and not polled. */
const silent = /^(?:capture|artefact):/

/** Between two reads. */
const minIntervalMs = 500
/** Characters of the changes on a line of `--settle`, which a model reads. */
const maxSettledChars = 20_000

/** Prints changes until a signal or the end of the reader. */
export async function runWatch(
  uri: string,
  flags: WatchFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  checkUri(uri)
  const { json } = flags
  const settleMs = readSettle(flags.settle, uri)
  await withClient(flags, env, async client => {
    const lines = openLiveLines(dropped => (json ? '' : `(${dropped} lines left out)\n`))
    try {
      if (/^events:/i.test(uri)) {
        const view = eventsView(uri, json, lines.write)
        return await watchEvents(uri, { client, view, stop: lines.over })
      }
      const maxChars = settleMs === undefined ? Infinity : maxSettledChars
      const view = json ? jsonView(uri, lines.write, maxChars) : screenView(uri, lines.write)
      await watch(uri, settleMs, { client, view, stop: lines.over })
    } finally {
      await lines.close()
    }
  })
}

/** Milliseconds of `--settle`. Throws `usage_invalid`. */
function readSettle(text: string | undefined, uri: string): number | undefined {
  if (text === undefined) return undefined
  if (/^events:/i.test(uri) || polled.test(uri)) {
    throw usage(`--settle cannot be used with ${uri}: servers never announce its changes`)
  }
  const [, number, unit] = /^(\d{1,5})(ms|s)$/.exec(text) ?? []
  const ms = Number(number) * (unit === 's' ? 1000 : 1)
  if (ms >= 100 && ms <= 60_000) return ms
  throw usage(`--settle ${text} is not a time from 100ms to 60s`, 'example: --settle 2s')
}

interface Parts<View> {
  readonly client: Client
  readonly view: View
  readonly stop: AbortSignal
}

const reader = (session: McpSession, signal: AbortSignal) => async (uri: string) =>
  (await readResource(session, uri, signal)).contents

const newBufferText = 'the server has a new event buffer; unread events of the old one are lost'

/** Polls events by cursor: servers never announce them. */
function watchEvents(uri: string, { client, view, stop }: Parts<EventsView>): Promise<void> {
  const { locate, open, output } = client
  const status = statusLine()
  const follower = createEventFollower(uri)
  const tell = (news: EventNews): void => {
    if (news.isNewBuffer) output.warn(`${clockText(new Date())}  ${newBufferText}`)
    if (news.events.length > 0 || news.gap) view.news(news)
  }
  return watchResource(
    {
      locate,
      open,
      uri,
      minIntervalMs,
      timer: systemTimer,
      random: Math.random,
      polls: true,
      hooks: {
        async subscribed(session, absence, signal) {
          const again = absence !== null
          const news = await follower.start(reader(session, signal))
          status.clear()
          view.begins(session.url, again)
          tell(news)
        },
        async changed(session, _updates, signal) {
          tell(await follower.look(reader(session, signal)))
        },
        away: absence => (status.isShown ? status.away(absence) : view.away(absence)),
        refused: (error, session) => withNearest(error, uri, session, client),
      },
    },
    stop,
  ).finally(() => status.clear())
}

function watch(
  uri: string,
  settleMs: number | undefined,
  { client, view, stop }: Parts<WatchView>,
): Promise<void> {
  const { locate, open, output } = client
  const status = statusLine()
  let follower: Follower
  return watchResource(
    {
      locate,
      open,
      uri,
      minIntervalMs,
      timer: systemTimer,
      random: Math.random,
      settleMs,
      polls: polled.test(uri),
      hooks: {
        async subscribed(session, absence, signal) {
          follower = isScene(uri) ? createSceneFollower() : createFollower(uri)
          const state = await follower.start(reader(session, signal))
          status.clear()
          if (absence !== null) return view.again(session.url, state, absence)
          if (state.kind === 'none' && !isScene(uri)) {
            // The error of the server may contain a hint.
            await readResource(session, uri, signal)
          }
          if (silent.test(uri)) {
            output.warn(`servers never announce changes of ${uri.split(':', 1)[0]}:// resources`)
          }
          view.begins(session.url, state)
        },
        async changed(session, updates, signal) {
          const found = await follower.look(reader(session, signal))
          const look = isLog.test(uri) ? newEntries(found) : found
          if (isNews(look)) view.changed(look, updates)
        },
        away: absence => (status.isShown ? status.away(absence) : view.away(absence)),
        refused: (error, session) => withNearest(error, uri, session, client),
      },
    },
    stop,
  ).finally(() => status.clear())
}

interface StatusLine {
  /** Whether there is a terminal for it. */
  readonly isShown: boolean
  away(absence: Absence): void
  clear(): void
}

/** A line that goes when the watch goes on. */
function statusLine(): StatusLine {
  const isShown = process.stderr.isTTY && process.stdout.isTTY && process.env.TERM !== 'dumb'
  let shown = false
  return {
    isShown,
    away(absence) {
      shown = true
      const text = `${awayText(absence)} …`
      process.stderr.write(`\r${text.slice(0, (process.stderr.columns ?? 80) - 1)}\u001b[K`)
    },
    clear() {
      if (shown) process.stderr.write('\r\u001b[K')
      shown = false
    },
  }
}

type Write = (line: string) => void

/** Prints events. */
interface EventsView {
  away(absence: Absence): void
  begins(url: URL, again: boolean): void
  news(news: EventNews): void
}

function eventsView(uri: string, json: boolean, write: Write): EventsView {
  const line = (event: string, more: object): void =>
    write(jsonLine({ event, time: new Date().toISOString(), uri, ...more }))
  const note = noteTo(write)
  return {
    away(absence) {
      if (json) line('away', { reason: absence.reason })
      else note(awayText(absence))
    },
    begins(url, again) {
      if (json) line(again ? 'reconnected' : 'watching', { url: shownUrl(url) })
      else if (again) note(`connected again at ${shownUrl(url)}`)
      else note(`watching ${uri} at ${shownUrl(url)}; Ctrl-C ends`)
    },
    news({ events, gap }) {
      if (json) {
        if (gap) line('gap', {})
        for (const event of events) line('appended', { appended: event })
        return
      }
      if (gap) note('events are missing: the server dropped them before they were read')
      for (const event of events) write(`${eventLine(event)}\n`)
    },
  }
}

/** `20:39:09  warning  bpy/stderr  the message` */
function eventLine(event: JsonObject): string {
  const { timestamp, level, source, stream, message } = event
  const time = new Date(typeof timestamp === 'string' ? timestamp : NaN)
  const clock = Number.isNaN(time.getTime()) ? '--:--:--' : clockText(time)
  const from = [source, stream].map(word => cleanText(asText(word ?? '-'), 40)).join('/')
  return [
    clock,
    cleanText(asText(level ?? '-'), 10).padEnd(7),
    from,
    cleanText(asText(message ?? ''), 4096),
  ].join('  ')
}
