import { createLineSink } from './line-sink.ts'
import { watchStopSignals } from './stop-signals.ts'

/** Writes lines to stdout until a stop signal or the end of the reader. */
interface LiveLines {
  /**
   * Queues one line, newline included. Never waits: lines that a slow reader misses are counted.
   */
  write(line: string): void
  /** Aborted by the first stop signal, and when the reader closed stdout. */
  readonly over: AbortSignal
  /** Flushes the queue and restores the default signal handling. */
  close(): Promise<void>
}

/** Lines within this time are written together. */
const flushMs = 20
/** `close` waits this long for a slow reader. */
const flushLimitMs = 500

/** `notice` reports lines that a slow reader missed, newline included. Keeps the process alive. */
export function openLiveLines(notice: (dropped: number) => string): LiveLines {
  const signals = watchStopSignals()
  const over = new AbortController()
  void signals.received.then(() => over.abort())
  const lines = createLineSink({
    // A closed pipe ends the output; it is not a failure.
    write: (chunk, done) =>
      process.stdout.write(chunk, error => {
        if (error) over.abort()
        done(error)
      }),
    notice,
    flushMs,
  })
  const ignore = (): void => {}
  process.stdout.on('error', ignore)
  const alive = setInterval(ignore, 60_000)
  return {
    write: line => lines.write(line),
    over: over.signal,
    async close() {
      clearInterval(alive)
      await lines.flush(flushLimitMs)
      process.stdout.off('error', ignore)
      signals.dispose()
    },
  }
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}
