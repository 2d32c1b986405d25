import { wrapWords } from '../../lib/cli/format.ts'
import { openLiveLines } from '../../lib/cli/live-lines.ts'
import { terminalWidth } from '../../lib/cli/output.ts'
import { shownUrl } from '../../lib/mcp/bridge/context.ts'
import type { McpSession } from '../../lib/mcp/client/context.ts'
import { createEventFollower } from '../../lib/mcp/client/event-follower.ts'
import { createFollower } from '../../lib/mcp/client/follower.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'
import { watchResource } from '../../lib/mcp/client/watch.ts'
import { usage } from '../../lib/util/errors.ts'
import { cleanText, jsonLine } from '../../lib/util/text.ts'
import { systemTimer } from '../../lib/util/time.ts'
import { type ClientFlags, withClient } from './client.ts'
import { checkUri, withNearest } from './uri-argument.ts'

interface WatchFlags extends ClientFlags {
  settle?: string
}

/** Never announced, but small enough to poll. */
const polled = /^(?:events:|resources:\/\/gateway\/events)/i
/** Never announced and not polled. */
const silent = /^(?:capture|artefact):/
/** On a screen. */
const maxLines = 50
const maxLineChars = 5000

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
    const { locate, open, output } = client
    const isTimed = /^events:/i.test(uri)
    const follower = isTimed ? createEventFollower(uri) : createFollower(uri)
    const out = openLiveLines()
    const tell = (event: string, facts: object, lines: readonly string[]): void => {
      const shown = event === 'changed' ? { ...facts, lines } : facts
      const line = { event, time: new Date().toISOString(), uri, ...shown }
      if (json) out.write(jsonLine(line))
      else if (isTimed && event === 'changed') out.write(`${lines.join('\n')}\n`)
      else out.write(screenText(lines))
    }
    if (silent.test(uri)) {
      output.warn(`servers never announce changes of ${uri.split(':', 1)[0]}:// resources`)
    }
    try {
      await watchResource(
        {
          locate,
          open,
          uri,
          settleMs,
          polls: polled.test(uri),
          timer: systemTimer,
          async begun(session, absence, signal) {
            const { text, facts, news } = await follower.start(reader(session, signal))
            const url = shownUrl(session.url)
            if (absence === null) {
              const line = `watching ${uri} at ${url} (${text}); Ctrl-C ends`
              tell('watching', { url, ...facts }, [line])
            } else {
              const { reason } = absence
              const away_ms = Math.round(performance.now() - absence.sinceMs)
              const line = `could not be read for up to ${(away_ms / 1000).toFixed(1)} s; watching again at ${url} (${text})`
              tell('reconnected', { url, reason, away_ms, ...facts }, [line])
            }
            if (news) tell('changed', news.facts, news.lines)
          },
          async changed(session, updates, signal) {
            const news = await follower.look(reader(session, signal))
            if (news) tell('changed', { updates, ...news.facts }, news.lines)
          },
          away({ reason }) {
            tell('away', { reason }, [`cannot be read (${reason}); trying again`])
          },
          refused: (error, session) => withNearest(error, uri, session, client),
        },
        out.over,
      )
    } finally {
      out.close()
    }
  })
}

/** Milliseconds of `--settle`. Throws `usage_invalid`. */
function readSettle(text: string | undefined, uri: string): number | undefined {
  if (text === undefined) return undefined
  if (polled.test(uri)) {
    throw usage(`--settle cannot be used with ${uri}: servers never announce its changes`)
  }
  const [, number, unit] = /^(\d{1,5})(ms|s)$/.exec(text) ?? []
  const ms = Number(number) * (unit === 's' ? 1000 : 1)
  if (ms >= 100 && ms <= 60_000) return ms
  throw usage(`--settle ${text} is not a time from 100ms to 60s`, 'example: --settle 2s')
}

const reader = (session: McpSession, signal: AbortSignal) => async (uri: string) =>
  (await readResource(session, uri, signal)).contents

/** The first line with the time; all wrapped to the width of the terminal. */
function screenText(lines: readonly string[]): string {
  const [indent, width] = [' '.repeat(10), terminalWidth(process.stdout)]
  const shown = lines.slice(0, maxLines).map(line => cleanText(line, maxLineChars))
  if (shown.length < lines.length) shown.push(`… ${lines.length - shown.length} more lines`)
  const clock = `${new Date().toTimeString().slice(0, 8)}  `
  const wrapped = shown.flatMap((line, at) =>
    wrapWords(line, width, at === 0 ? clock : indent, `${indent}  `),
  )
  return `${wrapped.join('\n')}\n`
}
