import { isLoopback } from '../lib/address.ts'
import { renderBanner } from '../lib/cli/banner.ts'
import { type ProgramLog, createLog } from '../lib/cli/log.ts'
import type { LogLevel } from '../lib/cli/log-level.ts'
import { findPortHolder } from '../lib/cli/port-holder.ts'
import { stderrWriter } from '../lib/cli/stderr-writer.ts'
import { watchStopSignals } from '../lib/cli/stop-signals.ts'
import { describeTerminal } from '../lib/cli/terminal.ts'
import { ServiceError } from '../lib/errors.ts'
import { defaultLimits } from '../server/options.ts'
import type { ServeHandle, ServeOptions } from '../server/serve-options.ts'

export interface OutputOptions {
  level: LogLevel
  json: boolean
  quiet: boolean
}

/** Log lines still waiting at the end get this long to leave. */
const flushMs = 500
/** The server ends itself within its grace time; this much later it is given up. */
const stopMarginMs = 500

/** Starts the server, says where it is, and returns when it has stopped after a signal. */
export async function runServer(
  options: Omit<ServeOptions, 'log' | 'accessLog'>,
  { level, json, quiet }: OutputOptions,
): Promise<void> {
  const terminal = describeTerminal(process.stderr.isTTY, process.env)
  const { isTTY: readable, colour } = terminal
  const log = createLog({ level, readable, colour, write: stderrWriter() })
  const signals = watchStopSignals()
  try {
    const cancel = new AbortController()
    const starting = start({ ...options, log, accessLog: log.access }, cancel.signal)
    const early = await Promise.race([signals.received, starting.then(() => null)])
    if (early !== null) {
      cancel.abort()
      const undone = starting.then(
        handle => handle.stop(),
        () => {},
      )
      return await ending(early, undone, log, graceMs(options))
    }
    const handle = await starting
    if (json) process.stdout.write(`${listeningLine(handle)}\n`)
    if (readable && !json && !quiet) log.print(renderBanner(bannerFacts(handle, options, colour)))
    else announce(handle, log)
    await untilStopped(handle, signals.received, log, graceMs(options))
  } finally {
    await log.flush(flushMs)
    signals.dispose()
  }
}

async function start(options: ServeOptions, cancelled: AbortSignal): Promise<ServeHandle> {
  const { startServe } = await import('../server/serve.ts')
  return startServe(options, cancelled).catch(explainPort)
}

async function untilStopped(
  handle: ServeHandle,
  signalled: Promise<string>,
  log: ProgramLog,
  limitMs: number,
): Promise<void> {
  const signal = await Promise.race([signalled, handle.closed])
  if (signal === undefined) throw new ServiceError('internal', 'the server stopped by itself')
  await ending(signal, handle.stop(), log, limitMs)
}

async function ending(
  signal: string,
  ended: Promise<void>,
  log: ProgramLog,
  limitMs: number,
): Promise<void> {
  log.info({ signal }, 'stopping')
  const { promise: tooLate, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    reject(new ServiceError('internal', `the server did not stop within ${limitMs} ms`))
  }, limitMs)
  try {
    await Promise.race([ended, tooLate])
  } finally {
    clearTimeout(timer)
  }
  log.info({}, 'stopped')
}

function graceMs(options: Omit<ServeOptions, 'log' | 'accessLog'>): number {
  return (options.limits?.stopGraceMs ?? defaultLimits.stopGraceMs) + stopMarginMs
}

/** For whoever started the program: everything needed to connect, no secret. */
function listeningLine(handle: ServeHandle): string {
  return JSON.stringify({
    event: 'listening',
    url: handle.url,
    pid: process.pid,
    host_url: handle.hostUrl,
    host_token_file: handle.hostTokenFile,
    instance_id: handle.instanceId,
  })
}

function announce(handle: ServeHandle, log: ProgramLog): void {
  const { url, hostUrl, hostTokenFile, instanceId } = handle
  const where = { url, host_url: hostUrl, host_token_file: hostTokenFile, instance_id: instanceId }
  log.info(where, 'listening')
}

function bannerFacts(
  handle: ServeHandle,
  options: Omit<ServeOptions, 'log' | 'accessLog'>,
  colour: boolean,
): Parameters<typeof renderBanner>[0] {
  const { url, hostUrl, hostTokenFile } = handle
  const keyed = options.apiKey !== undefined
  return {
    url,
    hostUrl,
    hostTokenFile,
    keyed,
    loopback: isLoopback(options.host),
    colour,
  }
}

async function explainPort(error: unknown): Promise<never> {
  if (!(error instanceof ServiceError) || error.code !== 'port_in_use') throw error
  const port = error.data?.port
  const holder = typeof port === 'number' ? await findPortHolder(port) : null
  const by = holder === null ? 'another program' : `process ${holder.pid} (${holder.command})`
  throw new ServiceError('port_in_use', `port ${String(port)} is taken by ${by}`, {
    cause: error,
    hint: 'stop it, choose another --port, or let --port 0 pick a free one',
  })
}
