import { createLog, type ProgramLog } from '../../lib/cli/log.ts'
import { watchStopSignals } from '../../lib/cli/stop-signals.ts'
import { runBridge } from '../../lib/mcp/bridge/bridge.ts'
import type { Locate } from '../../lib/mcp/bridge/connection.ts'
import { usage } from '../../lib/util/errors.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { levelOf, type OutputFlags } from '../server-flags.ts'

/** A server for one client on stdio. */
export interface StdioServer {
  readonly locate: Locate
  readonly key: Secret | null
  stop?(): Promise<void>
}

/**
 * Bridges stdin and stdout to the server that `open` finds, until the client or a signal ends it.
 * Logs to stderr.
 */
export async function runStdio(
  flags: OutputFlags,
  open: (log: ProgramLog, stop: AbortSignal) => Promise<StdioServer>,
): Promise<void> {
  if (flags.json) {
    throw usage('--json cannot be used here: the client reads every line of stdout as a message')
  }
  const { stdin: input, stdout: output, env } = process
  const log = createLog({ level: levelOf(flags) })
  const signals = watchStopSignals()
  void signals.received.then(signal => log.info({ signal }, 'stopping'))
  let server: StdioServer | null = null
  try {
    server = await open(log, signals.signal)
    if (input.isTTY) {
      log.info({}, 'waiting for JSON-RPC messages on stdin; meant to be started by an MCP client')
    }
    const { locate, key } = server
    await runBridge({ input, output, locate, key, env, log }, signals.signal)
  } catch (error) {
    // A signal during the start is not an error.
    if (!signals.signal.aborted) throw error
  } finally {
    await server?.stop?.()
    await log.close()
    signals.dispose()
  }
  // The process would otherwise wait for a client that does not read.
  if (output.writableLength > 0) process.exit(0)
}
