import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { setTimeout as sleep } from 'node:timers/promises'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { wrapWords } from '../../lib/cli/format.ts'
import { openLiveLines } from '../../lib/cli/live-lines.ts'
import { terminalWidth } from '../../lib/cli/output.ts'
import { shownUrl } from '../../lib/util/net.ts'
import { listen, type McpServer } from '../../lib/mcp/client/call.ts'
import { createFollower, createLogFollower } from '../../lib/mcp/client/follower.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'
import { Throttle } from '../../lib/mcp/throttle.ts'
import { type ErrorCode, ServiceError, usage } from '../../lib/util/errors.ts'
import { cleanText, jsonLine } from '../../lib/util/text.ts'
import { pause, systemTimer } from '../../lib/util/time.ts'
import { withClient } from './client.ts'
import { endpointFlags } from '../endpoint-flags.ts'

const logs = /^(?:events:|audit:\/\/recent)/i
/** Never announced, but small enough to poll. */
const polled = /^(?:events:|resources:\/\/gateway\/events)/i
const minIntervalMs = 500
/** The pause before the server is looked for again. */
const retryMs = 1000
/** Errors that retrying cannot fix. */
const permanentCodes: readonly ErrorCode[] = [
  'auth_required',
  'auth_refused',
  'usage_invalid',
  'config_invalid',
  'storage_failed',
]

export default class ResourcesWatch extends BaseCommand {
  static override summary = 'Subscribe to a resource and print its changes'
  static override description = `Subscribes to a resource of your running service-cli serve, or of the \
MCP endpoint at --url, and prints changes until Ctrl-C: added, removed and changed members of the \
scene and other JSON, or the size of anything else. Combines changes within half a second. \
Reconnects after a restart of the server.`
  static override examples = [
    '<%= config.bin %> resources watch scene://current',
    '<%= config.bin %> resources watch audit://recent',
    '<%= config.bin %> resources watch scene://current --json',
    '<%= config.bin %> resources watch scene://current --json --settle 2s',
  ]

  static override args = {
    uri: Args.string({ description: 'URI as listed', required: true, ignoreStdin: true }),
  }

  static override flags = {
    settle: Flags.string({
      description: 'print when nothing has changed for this time (100ms to 60s)',
      helpValue: 'TIME',
    }),
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ResourcesWatch)
    const { uri } = args
    const settleMs = readSettle(flags.settle, uri)
    await withClient(flags, async find => {
      const out = openLiveLines()
      const print: Print = (event, facts, lines) => {
        const line = { event, time: new Date().toISOString(), uri, ...facts }
        if (flags.json) out.write(jsonLine(event === 'changed' ? { ...line, lines } : line))
        // Each event has its own time.
        else if (/^events:/i.test(uri) && event === 'changed') out.write(`${lines.join('\n')}\n`)
        else out.write(screenText(lines))
      }
      try {
        await watch(uri, settleMs, { find, print, stopped: out.stopped })
      } finally {
        out.close()
      }
    })
  }
}

type Print = (event: string, facts: object, lines: readonly string[]) => void

/**
 * Watches a resource until `over`; reconnects after restarts of the server. Rejects with
 * `ServiceError` when the first attempt fails or an error is permanent.
 */
async function watch(
  uri: string,
  settleMs: number,
  { find, print, stopped }: { find: () => Promise<McpServer>; print: Print; stopped: AbortSignal },
): Promise<void> {
  const follower = logs.test(uri) ? createLogFollower(uri) : createFollower(uri)
  let isFirst = true
  /** Since when, by the monotonic clock, and why the resource cannot be read. */
  let absence = null as { reason: string; sinceMs: number } | null

  /** Watches over one connection, to its end. */
  async function watchOnce(): Promise<never> {
    const server = await find()
    const connection = new AbortController()
    const signal = AbortSignal.any([stopped, connection.signal])
    const read = async (wanted: string) => (await readResource(server, wanted, signal)).contents
    const look = async (updates: number) => {
      const news = await follower.look(read)
      if (news) print('changed', { updates, ...news.facts }, news.lines)
    }
    const run = (updates: number) => look(updates).catch(error => connection.abort(error))
    const throttle = new Throttle({ timer: systemTimer, minIntervalMs, debounceMs: settleMs, run })
    async function begun(): Promise<void> {
      const { text, facts } = await follower.start(read)
      const url = shownUrl(server.url)
      if (absence === null) {
        print('watching', { url, ...facts }, [`watching ${uri} at ${url} (${text}); Ctrl-C ends`])
      } else {
        const { reason, sinceMs } = absence
        const away_ms = Math.round(performance.now() - sinceMs)
        const line = `could not be read for up to ${away_ms / 1000} s; watching again at ${url} (${text})`
        print('reconnected', { url, reason, away_ms, ...facts }, [line])
      }
      isFirst = false
      absence = null
    }
    const updated = () => throttle.trigger()
    try {
      if (!polled.test(uri)) return await listen(server, uri, { signal, begun, updated })
      for (await begun(); ; await sleep(minIntervalMs, undefined, { signal })) updated()
    } catch (error) {
      throw connection.signal.aborted ? connection.signal.reason : error
    } finally {
      throttle.stop()
      connection.abort()
    }
  }

  while (!stopped.aborted) {
    const error = await watchOnce().catch((cause: unknown) => cause)
    if (stopped.aborted) return
    if (isFirst || !(error instanceof ServiceError) || permanentCodes.includes(error.code)) {
      throw error
    }
    const { message: reason } = error
    if (absence === null) print('away', { reason }, [`cannot be read (${reason}); trying again`])
    absence ??= { reason, sinceMs: performance.now() }
    await pause(systemTimer, retryMs, stopped)
  }
}

/** Milliseconds of `--settle`; 0 without. Throws `usage_invalid`. */
function readSettle(text: string | undefined, uri: string): number {
  if (text === undefined) return 0
  if (polled.test(uri)) {
    throw usage(`--settle cannot be used with ${uri}: servers never announce its changes`)
  }
  const [, number, unit] = /^(\d{1,5})(ms|s)$/.exec(text) ?? []
  const ms = Number(number) * (unit === 's' ? 1000 : 1)
  if (ms >= 100 && ms <= 60_000) return ms
  throw usage(`--settle ${text} is not a time from 100ms to 60s`, 'example: --settle 2s')
}

/** At most 50 lines, the first one with the time; all wrapped to the width of the terminal. */
function screenText(lines: readonly string[]): string {
  const [indent, width] = [' '.repeat(10), terminalWidth(process.stdout)]
  const shown = lines.slice(0, 50).map(line => cleanText(line, 5000))
  if (shown.length < lines.length) shown.push(`… ${lines.length - shown.length} more lines`)
  const clock = `${new Date().toTimeString().slice(0, 8)}  `
  const wrapped = shown.flatMap((line, at) =>
    wrapWords(line, width, at === 0 ? clock : indent, `${indent}  `),
  )
  return `${wrapped.join('\n')}\n`
}
