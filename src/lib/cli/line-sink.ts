/** Writes one chunk and calls back once, with an error when the reader is gone. */
export type WriteChunk = (chunk: string, done: (error?: Error | null) => void) => void

interface LineSinkOptions {
  write: WriteChunk
  /** The line that reports the number of dropped lines, newline included. */
  notice: (dropped: number) => string
  /** Bytes queued before lines are dropped, beside the chunk being written. Default 1 MiB. */
  maxBytes?: number
  /** Queued bytes that trigger a write. Default 4096. */
  batchBytes?: number
  /** Fewer bytes are written after this time. Default 250 ms. */
  flushMs?: number
}

interface LineSink {
  /** Queues one line, newline included. Never throws or waits. */
  write(line: string): void
  /** Settles when all queued lines are written, after `timeoutMs`, or when the sink is closed. */
  flush(timeoutMs: number): Promise<void>
  /** Lines dropped so far. */
  readonly dropped: number
}

/**
 * Writes lines to a reader that may be slow, stuck or gone. Memory is bounded, and one chunk is
 * written at a time. The destination of pino writes synchronously on exit: a stopped terminal or a
 * full pipe would keep the process from ending.
 */
export function createLineSink(options: LineSinkOptions): LineSink {
  const { write, notice, maxBytes = 1024 * 1024, batchBytes = 4096, flushMs = 250 } = options
  let waiting = ''
  let waitingBytes = 0
  let lost = 0
  let dropped = 0
  let state: 'idle' | 'writing' | 'closed' = 'idle'
  let timer: NodeJS.Timeout | undefined
  let whenEmpty: (() => void)[] = []

  const settle = (): void => {
    const callbacks = whenEmpty
    whenEmpty = []
    for (const callback of callbacks) callback()
  }

  const pump = (): void => {
    if (state !== 'idle') return
    clearTimeout(timer)
    timer = undefined
    if (waiting === '') return settle()
    const chunk = waiting
    waiting = ''
    waitingBytes = 0
    state = 'writing'
    write(chunk, error => {
      if (state !== 'writing') return
      if (error) {
        state = 'closed'
        waiting = ''
        return settle()
      }
      state = 'idle'
      if (lost > 0) {
        waiting = `${notice(lost)}${waiting}`
        lost = 0
      }
      if (whenEmpty.length > 0 || waitingBytes >= batchBytes) pump()
      else if (waiting !== '') schedule()
    })
  }

  const schedule = (): void => {
    timer ??= setTimeout(pump, flushMs).unref()
  }

  return {
    get dropped() {
      return dropped
    },
    write(line) {
      if (state === 'closed') return
      const bytes = Buffer.byteLength(line)
      if (waitingBytes + bytes > maxBytes) {
        lost++
        dropped++
        return
      }
      waiting += line
      waitingBytes += bytes
      if (waitingBytes >= batchBytes) pump()
      else schedule()
    },
    flush(timeoutMs) {
      return new Promise(resolve => {
        const limit = setTimeout(resolve, timeoutMs)
        whenEmpty.push(() => {
          clearTimeout(limit)
          resolve()
        })
        if (state === 'closed') settle()
        else pump()
      })
    },
  }
}
