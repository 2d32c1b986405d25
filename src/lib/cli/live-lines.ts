import { watchStopSignals } from './stop-signals.ts'

/** Writes lines to stdout until a stop signal or the end of the reader. */
interface LiveLines {
  /** Writes one line, newline included. Never waits: a reader that is far behind misses lines. */
  write(line: string): void
  /** Aborted by the first stop signal, and when the reader closed stdout. */
  readonly over: AbortSignal
  /** Restores the default signal handling. */
  close(): void
}

const maxQueuedBytes = 1024 * 1024

/** Keeps the process alive. */
export function openLiveLines(): LiveLines {
  const { stdout } = process
  const signals = watchStopSignals()
  const readerLeft = new AbortController()
  const end = (): void => readerLeft.abort()
  stdout.on('error', end)
  const alive = setInterval(() => {}, 60_000)
  return {
    write(line) {
      if (stdout.writableLength < maxQueuedBytes) stdout.write(line)
    },
    over: AbortSignal.any([signals.signal, readerLeft.signal]),
    close() {
      clearInterval(alive)
      stdout.off('error', end)
      signals.dispose()
    },
  }
}
