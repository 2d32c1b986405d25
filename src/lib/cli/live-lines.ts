import { createLineSink } from './line-sink.ts'
import { watchStopSignals } from './stop-signals.ts'

/** Lines on stdout for as long as somebody looks on. */
interface LiveLines {
  /** One line, newline included. Never waits: what a slow reader does not take is counted. */
  write(line: string): void
  /** Aborted by the first stop signal, and when nobody reads any more. */
  readonly over: AbortSignal
  /** Lets the rest out and gives the signals back. */
  close(): Promise<void>
}

/** Lines that come together are written together. */
const flushMs = 20
/** Lines that wait for a slow reader at the end get this long to leave. */
const flushLimitMs = 500

/** `notice`: the line for what a slow reader has missed, newline included. Keeps the process alive. */
export function openLiveLines(notice: (dropped: number) => string): LiveLines {
  const signals = watchStopSignals()
  const over = new AbortController()
  void signals.received.then(() => over.abort())
  const lines = createLineSink({
    // A reader that has gone is the end, not a failure.
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
