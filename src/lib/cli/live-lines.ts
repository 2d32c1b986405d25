import { watchStopSignals } from './stop-signals.ts'

const maxQueuedBytes = 1024 * 1024

/** Writes lines to stdout until a stop signal or the end of the reader. Keeps the process alive. */
export function openLiveLines() {
  const { stdout } = process
  const signals = watchStopSignals()
  const readerLeft = new AbortController()
  const end = (): void => readerLeft.abort()
  stdout.on('error', end)
  const alive = setInterval(() => {}, 60_000)
  return {
    /** Writes one line, newline included. Never waits: a reader that is far behind misses lines. */
    write(line: string): void {
      if (stdout.writableLength < maxQueuedBytes) stdout.write(line)
    },
    /** Aborted by the first stop signal, and when the reader closed stdout. */
    stopped: AbortSignal.any([signals.signal, readerLeft.signal]),
    /** Restores the default signal handling. */
    close(): void {
      clearInterval(alive)
      stdout.off('error', end)
      signals.dispose()
    },
  }
}
