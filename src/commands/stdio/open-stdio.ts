import { createLog, type ProgramLog } from '../../lib/cli/log.ts'
import type { LogLevel } from '../server-flags.ts'
import { watchStopSignals } from '../../lib/cli/stop-signals.ts'
import { hasColour } from '../../lib/cli/output.ts'
import { type BridgeParts, runBridge } from '../../lib/mcp/bridge/bridge.ts'
import { systemTimer } from '../../lib/util/time.ts'

/** Connects the bridge to the process: stdin, stdout, the log on stderr and signals. */
export interface Stdio {
  readonly log: ProgramLog
  /** Aborted by the first stop signal. */
  readonly stop: AbortSignal
  bridge(parts: Pick<BridgeParts, 'locate' | 'onMoved' | 'key' | 'env'>): Promise<void>
  /** Writes the rest of the log. */
  close(): Promise<void>
  /**
   * Ends the process with 0 when the client has not read all output; the process would otherwise
   * wait for the client.
   */
  leave(): void
}

export function openStdio(level: LogLevel): Stdio {
  const { stderr } = process
  const log = createLog({ level, readable: stderr.isTTY, colour: hasColour(stderr) })
  const signals = watchStopSignals()
  void signals.received.then(signal => log.info({ signal }, 'stopping'))
  return {
    log,
    stop: signals.signal,
    async bridge(parts) {
      if (process.stdin.isTTY) {
        log.info({}, 'waiting for JSON-RPC messages on stdin; meant to be started by an MCP client')
      }
      const { stdin: input, stdout: output } = process
      await runBridge(
        { ...parts, input, output, timer: systemTimer, random: Math.random, log },
        signals.signal,
      )
    },
    async close() {
      await log.close()
      signals.dispose()
    },
    leave() {
      if (process.stdout.writableLength > 0) process.exit(0)
    },
  }
}
