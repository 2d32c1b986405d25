import { type ErrorCode, ServiceError } from '../../util/errors.ts'
import { Throttle } from '../../util/throttle.ts'
import { pause, retryDelay, type Timer } from '../../util/time.ts'
import type { Locate } from '../bridge/context.ts'
import type { McpSession } from './context.ts'

interface WatchParts {
  readonly locate: Locate
  readonly open: (url: URL, signal: AbortSignal) => Promise<McpSession>
  readonly uri: string
  /** Reads only after this time without a change, or after ten times this time of changes. */
  readonly settleMs?: number
  /** Also reads at every interval, for resources without updates. */
  readonly polls?: boolean
  readonly timer: Timer
  /** Called when subscribed; `absence` is null at first. May reject. */
  begun(session: McpSession, absence: Absence | null, signal: AbortSignal): Promise<void>
  /** Called when the resource may have changed since the last read. May reject. */
  changed(session: McpSession, updates: number, signal: AbortSignal): Promise<void>
  away(absence: Absence): void
  /** Returns the error to report when the first attempt fails. */
  refused(error: unknown, session: McpSession): Promise<unknown>
}

/** Since when, by the monotonic clock, and why a resource cannot be read. */
export interface Absence {
  readonly reason: string
  readonly sinceMs: number
}

const minIntervalMs = 500

/** Errors that retrying cannot fix. */
const permanentCodes: readonly ErrorCode[] = [
  'auth_required',
  'auth_refused',
  'usage_invalid',
  'config_invalid',
  'storage_failed',
]

interface Progress {
  /** Was subscribed at least once. */
  isKnown: boolean
  attempt: number
  absence: Absence | null
}

/**
 * Watches a resource until the signal is aborted; reconnects after restarts of the server.
 * Rejects with `ServiceError` when the first attempt fails or an error is permanent.
 */
export async function watchResource(parts: WatchParts, signal: AbortSignal): Promise<void> {
  const progress: Progress = { isKnown: false, attempt: 0, absence: null }
  while (!signal.aborted) {
    try {
      await watchOnce(parts, progress, signal)
    } catch (error) {
      if (signal.aborted) return
      const isPermanent = error instanceof ServiceError && permanentCodes.includes(error.code)
      if (!(error instanceof ServiceError) || isPermanent || !progress.isKnown) throw error
      if (progress.absence === null) {
        progress.absence = { reason: error.message, sinceMs: performance.now() }
        parts.away(progress.absence)
      }
    }
    await pause(parts.timer, retryDelay(progress.attempt++, Math.random), signal)
  }
}

/** Watches over one connection; always rejects with the reason of its end. */
async function watchOnce(parts: WatchParts, progress: Progress, signal: AbortSignal) {
  const { uri, timer, settleMs, polls = false } = parts
  const found = await parts.locate()
  if (!found.ok) {
    // A look at the instance records costs little, so the next one is soon.
    progress.attempt = Math.min(progress.attempt, 1)
    throw new ServiceError('network_failed', found.failure)
  }
  const session = await parts.open(found.value.url, signal)
  const failed = Promise.withResolvers<never>()
  // Awaited later; without this, an earlier failure would leave the rejection unhandled.
  failed.promise.catch(() => {})
  const run = (updates: number) => parts.changed(session, updates, signal).catch(failed.reject)
  const throttle = new Throttle({ timer, minIntervalMs, settleMs, run })
  let [isReady, isEarly] = [false, false]
  const updated = (): void => {
    if (isReady) throttle.poke()
    else isEarly = true
  }
  let cancelPoll = (): void => {}
  const poll = (): void => {
    cancelPoll = timer.after(minIntervalMs, () => {
      throttle.poke()
      poll()
    })
  }
  try {
    const begin = async () => {
      const subscription = await session.subscribe(uri, updated, signal)
      await parts.begun(session, progress.absence, signal)
      return subscription
    }
    const { ended } = await begin().catch(async (error: unknown) => {
      throw progress.isKnown ? error : await parts.refused(error, session)
    })
    Object.assign(progress, { isKnown: true, attempt: 0, absence: null })
    isReady = true
    // The update may be newer than what `begun` has read.
    if (isEarly) throttle.poke()
    if (polls) poll()
    const end = await Promise.race([ended, failed.promise])
    throw end.kind === 'refused' ? end.error : new ServiceError('network_failed', end.reason)
  } finally {
    cancelPoll()
    throttle.stop()
    await session.close()
  }
}
