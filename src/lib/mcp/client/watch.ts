import { type ErrorCode, messageOf, ServiceError } from '../../util/errors.ts'
import { pause, retryDelay, type Timer } from '../../util/time.ts'
import type { Locate } from '../bridge/context.ts'
import type { McpSession, Over, Subscription } from './context.ts'

interface WatchParts {
  readonly locate: Locate
  readonly open: (url: URL, signal: AbortSignal) => Promise<McpSession>
  readonly uri: string
  /** Looks at the resource this often at most. */
  readonly minIntervalMs: number
  /** Also polls every `minIntervalMs`: some resources are never announced. */
  readonly polls?: boolean
  readonly timer: Timer
  /** 0…1 */
  readonly random: () => number
  readonly hooks: WatchHooks
}

interface WatchHooks {
  /** The subscription stands, at first and after each time the server was away. May reject. */
  stands(session: McpSession, again: boolean, signal: AbortSignal): Promise<void>
  /** Something changed since it was looked at last. May reject. */
  changed(session: McpSession, updates: number, signal: AbortSignal): Promise<void>
  away(reason: string): void
}

/** What waiting for the server does not cure. */
const lasting: readonly ErrorCode[] = [
  'auth_required',
  'auth_refused',
  'usage_invalid',
  'config_invalid',
  'storage_failed',
]

/**
 * Watches a resource until the signal is aborted, over as many runs of the server as it takes.
 * Rejects with `ServiceError` when it cannot be watched at the beginning, or never again.
 */
export async function watchResource(parts: WatchParts, signal: AbortSignal): Promise<void> {
  const { timer, random, hooks } = parts
  let attempt = 0
  for (let again = false; !signal.aborted;) {
    try {
      const reason = await watchOnce(parts, again, signal, () => {
        again = true
        attempt = 0
      })
      if (signal.aborted) return
      hooks.away(reason)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof ServiceError) || !again || lasting.includes(error.code)) throw error
    }
    await pause(timer, retryDelay(attempt++, random), signal)
  }
}

/** One connection to its end; resolves with the reason of the end. */
async function watchOnce(
  parts: WatchParts,
  again: boolean,
  signal: AbortSignal,
  standing: () => void,
): Promise<string> {
  const { uri, hooks, timer, minIntervalMs, polls = false } = parts
  const place = await parts.locate()
  if (!place.ok) throw new ServiceError('network_failed', place.failure)
  const session = await parts.open(place.value.url, signal)
  const failed = Promise.withResolvers<Over>()
  let ready = false
  const pacer = new Pacer({
    timer,
    minIntervalMs,
    run: updates =>
      hooks.changed(session, updates, signal).catch((error: unknown) => {
        failed.resolve(asOver(error))
      }),
  })
  let cancelPoll = (): void => {}
  const poll = (): void => {
    cancelPoll = timer.after(minIntervalMs, () => {
      pacer.poke()
      poll()
    })
  }
  try {
    let early = 0
    const updated = (): void => {
      if (ready) pacer.poke()
      else early++
    }
    const subscription: Subscription = await session.subscribe(uri, updated, signal)
    await hooks.stands(session, again, signal)
    standing()
    ready = true
    // What it showed may be older than these.
    if (early > 0) pacer.poke()
    if (polls) poll()
    const over = await Promise.race([subscription.over, failed.promise])
    if (over.kind === 'refused') throw over.error
    return over.reason
  } finally {
    cancelPoll()
    pacer.stop()
    await session.close()
  }
}

/** What a look fails with: a server that is gone is waited for, anything else is the end of it. */
function asOver(error: unknown): Over {
  if (!(error instanceof ServiceError)) {
    const message = messageOf(error)
    return { kind: 'refused', error: new ServiceError('internal', message, { cause: error }) }
  }
  const gone: readonly ErrorCode[] = ['network_failed', 'net_timeout', 'session_ended', 'cancelled']
  return gone.includes(error.code)
    ? { kind: 'lost', reason: error.message }
    : { kind: 'refused', error }
}

interface PacerParts {
  readonly timer: Timer
  /** Between the begin of one run and that of the next. */
  readonly minIntervalMs: number
  /** `updates`: how many pokes it stands for. Must not reject. */
  readonly run: (updates: number) => Promise<void>
}

/**
 * Many pokes, few runs: the first at once, further ones no sooner than the interval allows, one at a
 * time, and always one after the last poke.
 */
export class Pacer {
  readonly #parts: PacerParts
  #waiting = 0
  #running = false
  /** The interval since the last run is not over. */
  #resting = false
  #stopped = false
  #cancelRest = (): void => {}

  constructor(parts: PacerParts) {
    this.#parts = parts
  }

  poke(): void {
    if (this.#stopped) return
    this.#waiting++
    this.#go()
  }

  stop(): void {
    this.#stopped = true
    this.#cancelRest()
  }

  #go(): void {
    if (this.#stopped || this.#running || this.#resting || this.#waiting === 0) return
    const { timer, minIntervalMs, run } = this.#parts
    const updates = this.#waiting
    this.#waiting = 0
    this.#running = true
    this.#resting = true
    this.#cancelRest = timer.after(minIntervalMs, () => {
      this.#resting = false
      this.#go()
    })
    void run(updates).then(() => {
      this.#running = false
      this.#go()
    })
  }
}
