/** The time, in milliseconds since the Unix epoch. Injected, so that tests can set it. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** For durations: never set back, and not advanced when the system's time is set. */
export const monotonicClock: Clock = { now: () => performance.now() }

/** RFC 3339 in UTC with milliseconds: the form of every time on the wire. */
export function toRfc3339(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

const form = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/

/** Milliseconds of an RFC 3339 time, or null for anything else, such as a time without a zone. */
export function parseRfc3339(text: string): number | null {
  const day = text.slice(0, 10)
  // `Date.parse` takes 30 February for 2 March.
  const isDay = form.test(text) && new Date(day).toJSON()?.startsWith(day)
  const timeMs = isDay ? Date.parse(text.toUpperCase().replace(' ', 'T')) : NaN
  return Number.isNaN(timeMs) ? null : timeMs
}

/** The text of a time, or null when none is known. */
export function rfc3339OrNull(timeMs: number | null | undefined): string | null {
  return timeMs === undefined || timeMs === null ? null : toRfc3339(timeMs)
}

/** A timer that is to wait longer fires at once. */
export const maxTimerMs = 2 ** 31 - 1

/** Runs something later. Injected, so that tests can move time. */
export interface Timer {
  /** Returns the cancel. */
  after(delayMs: number, run: () => void): () => void
}

/** Never keeps the process alive. */
export const systemTimer: Timer = {
  after(delayMs, run) {
    const handle = setTimeout(run, delayMs)
    handle.unref()
    return () => clearTimeout(handle)
  },
}

/** Resolves after a while, or as soon as the signal is aborted. */
export function pause(timer: Timer, delayMs: number, signal: AbortSignal): Promise<void> {
  if (delayMs <= 0 || signal.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const cancel = timer.after(delayMs, done)
    function done(): void {
      cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
  })
}

/**
 * Runs it again and again, each time `delayMs` after the last one has ended; it must not reject.
 * Returns the stop.
 */
export function repeat(timer: Timer, delayMs: number, run: () => Promise<void>): () => void {
  let isStopped = false
  let cancel = () => {}
  const next = () => {
    if (!isStopped) cancel = timer.after(delayMs, () => void run().then(next))
  }
  next()
  return () => {
    isStopped = true
    cancel()
  }
}

const firstRetryMs = 250
const maxRetryMs = 10_000
const jitter = 0.2

/**
 * The pause before an attempt to connect, `attempt` counted from 0: 0.25 s, twice as long each
 * time up to 10 s, ±20 % so that several clients do not come back at once. `random` is in 0…1.
 */
export function retryDelay(attempt: number, random: () => number): number {
  const base = Math.min(firstRetryMs * 2 ** attempt, maxRetryMs)
  return Math.round(base * (1 - jitter + 2 * jitter * random()))
}

/** The promise's outcome, or what `late` returns or throws once `timeoutMs` have passed. */
export async function within<Value>(
  promise: PromiseLike<Value>,
  timeoutMs: number,
  timer: Timer,
  late: () => Value,
): Promise<Value> {
  const { promise: tooLate, resolve } = Promise.withResolvers<void>()
  const cancel = timer.after(timeoutMs, resolve)
  try {
    return await Promise.race([promise, tooLate.then(late)])
  } finally {
    cancel()
  }
}
