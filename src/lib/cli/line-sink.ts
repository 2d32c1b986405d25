/** Writes one chunk; calls back once, with an error when the other side is gone for good. */
export type WriteChunk = (chunk: string, done: (error?: Error | null) => void) => void

interface LineSinkOptions {
  write: WriteChunk
  /** The line that tells how many were dropped, newline included. */
  notice: (dropped: number) => string
  /** Bytes waiting before lines are dropped; as many again may be on their way. Default 1 MiB. */
  maxBytes?: number
  /** Waiting bytes that are written at once. Default 4096. */
  batchBytes?: number
  /** Fewer bytes wait at most this long. Default 250 ms. */
  flushMs?: number
}

interface LineSink {
  /** Takes one line, newline included. Never throws, never waits. */
  write(line: string): void
  /** Settles when all lines taken so far are out, after `timeoutMs`, or when the sink is closed. */
  flush(timeoutMs: number): Promise<void>
  /** Lines dropped so far. */
  readonly dropped: number
}

/**
 * Lines for a reader that may be slow, stuck or gone. Memory is bounded, one chunk is on its way
 * at a time. The logging library's own destination is not used because it writes synchronously
 * on exit: a stopped terminal or a full pipe would then keep the process from ending.
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
