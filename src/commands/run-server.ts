import { type ProgramLog, createLog } from '../lib/cli/log.ts'
import { levelOf, type OutputFlags } from './server-flags.ts'
import { watchStopSignals } from '../lib/cli/stop-signals.ts'
import { hasColour, writeStdout } from '../lib/cli/output.ts'
import { ServiceError } from '../lib/util/errors.ts'
import type { Stoppable } from '../server/http/server-socket.ts'
import type { openWarning } from './auth-flags.ts'

/** A line on stdout with `--json`. */
type JsonLine = { readonly event: string } & Readonly<Record<string, unknown>>

interface ServerRun<Settings, Handle extends Stoppable> {
  readonly settings: Settings
  /**
   * Rejects when `cancelled` is aborted before the server listens. `say` prints a line with
   * `--json` before that.
   */
  readonly start: (
    options: Settings & { log: ProgramLog; accessLog: ProgramLog['access'] },
    cancelled: AbortSignal,
    say: (line: JsonLine) => void,
  ) => Promise<Handle>
  /** Everything needed to connect, without secrets. */
  readonly listening: (handle: Handle) => Readonly<Record<string, unknown>>
  /** Printed once, and never logged: what a `--json` line has beside `listening`, and its text. */
  readonly secrets?: (handle: Handle) => { json: object; text: string }
  /** Logged by a server without authentication. */
  readonly warning?: ReturnType<typeof openWarning>
  /** For a terminal alone: it may show a login link. */
  readonly banner: (handle: Handle, shown: { colour: boolean }) => string | Promise<string>
  /** What a terminal is told after the banner, as soon as it is known; empty: nothing. */
  readonly addition?: (handle: Handle, shown: { colour: boolean }) => Promise<string>
}

/** Starts a server, says where it is, and returns when it has stopped after a signal. */
export async function runServer<Settings, Handle extends Stoppable>(
  run: ServerRun<Settings, Handle>,
  flags: OutputFlags,
): Promise<void> {
  const { json, quiet } = flags
  const colour = hasColour(process.stderr)
  const log = createLog({ level: levelOf(flags) })
  const signals = watchStopSignals()
  try {
    const cancel = new AbortController()
    const say = async (line: JsonLine): Promise<void> => {
      if (json) await writeStdout(`${JSON.stringify(line)}\n`)
    }
    const news = (line: JsonLine): void => {
      void say(line).catch(error => log.error({ err: error }, 'cannot write a --json line'))
    }
    const options = { ...run.settings, log, accessLog: log.access }
    const starting = run.start(options, cancel.signal, news)
    const early = await Promise.race([signals.received, starting.then(() => null)])
    if (early !== null) {
      cancel.abort()
      const stopped = starting.then(handle => handle.stop()).catch(() => {})
      return await ending(early, stopped, log)
    }
    const handle = await starting
    const { url, ...facts } = run.listening(handle)
    try {
      const secrets = run.secrets?.(handle)
      await say({ event: 'listening', url, pid: process.pid, ...facts, ...secrets?.json })
      if (!json && secrets !== undefined) log.print(secrets.text)
    } catch (error) {
      await handle.stop()
      throw error
    }
    const shown = { colour }
    if (process.stderr.isTTY && !json && !quiet) {
      log.print(await run.banner(handle, shown))
      void run.addition?.(handle, shown).then(text => text !== '' && log.print(text))
    } else log.info({ url, ...facts }, 'listening')
    const { warning } = run
    if (warning) log[warning.level]({}, warning.message)
    const signal = await Promise.race([signals.received, handle.closed])
    if (signal === undefined) throw new ServiceError('internal', 'the server stopped by itself')
    await ending(signal, handle.stop(), log)
  } finally {
    await log.close()
    signals.dispose()
  }
}

async function ending(signal: string, ended: Promise<void>, log: ProgramLog): Promise<void> {
  log.info({ signal }, 'stopping')
  await ended
  log.info({}, 'stopped')
}
