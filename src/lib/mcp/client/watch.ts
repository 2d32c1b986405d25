import { type ErrorCode, ServiceError } from '../../util/errors.ts'
import { Throttle } from '../throttle.ts'
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
  readonly polls: boolean
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
interface Absence {
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

/**
 * Watches a resource until the signal is aborted; reconnects after restarts of the server.
 * Rejects with `ServiceError` when the first attempt fails or an error is permanent.
 */
export async function watchResource(parts: WatchParts, signal: AbortSignal): Promise<void> {
  const { locate, open, uri, timer, settleMs, polls } = parts
  let isKnown = false
  let attempt = 0
  let absence: Absence | null = null

  /** Watches over one connection; always rejects with the reason of its end. */
  async function watchOnce(): Promise<never> {
    const found = await locate()
    if (!found.ok) {
      // A look at the instance records costs little, so the next one is soon.
      attempt = Math.min(attempt, 1)
      throw new ServiceError('network_failed', found.failure)
    }
    const session = await open(found.value.url, signal)
    const failed = Promise.withResolvers<never>()
    // Awaited later; without this, an earlier failure would leave the rejection unhandled.
    failed.promise.catch(() => {})
    const run = (updates: number) => parts.changed(session, updates, signal).catch(failed.reject)
    const throttle = new Throttle({ timer, minIntervalMs, settleMs, run })
    let cancelPoll = (): void => {}
    const poll = (): void => {
      cancelPoll = timer.after(minIntervalMs, poll)
      throttle.poke()
    }
    try {
      let [isReady, isEarly] = [false, false]
      const updated = (): void => {
        if (isReady) throttle.poke()
        else isEarly = true
      }
      const begin = async () => {
        const subscription = await session.subscribe(uri, updated, signal)
        await parts.begun(session, absence, signal)
        return subscription
      }
      const { ended } = await begin().catch(async (error: unknown) => {
        throw isKnown ? error : await parts.refused(error, session)
      })
      ;[isKnown, attempt, absence, isReady] = [true, 0, null, true]
      // The update may be newer than what `begun` has read.
      if (isEarly) throttle.poke()
      if (polls) cancelPoll = timer.after(minIntervalMs, poll)
      const end = await Promise.race([ended, failed.promise])
      throw end.kind === 'refused' ? end.error : new ServiceError('network_failed', end.reason)
    } finally {
      cancelPoll()
      throttle.stop()
      await session.close()
    }
  }

  while (!signal.aborted) {
    const error: unknown = await watchOnce().catch((cause: unknown) => cause)
    if (signal.aborted) return
    if (!isKnown || !(error instanceof ServiceError)) throw error
    if (permanentCodes.includes(error.code)) throw error
    if (absence === null) {
      absence = { reason: error.message, sinceMs: performance.now() }
      parts.away(absence)
    }
    await pause(timer, retryDelay(attempt++, Math.random), signal)
  }
}
