import { type ErrorCode, messageOf, ServiceError } from '../../util/errors.ts'
import { Throttle } from '../../util/throttle.ts'
import { pause, retryDelay, type Timer } from '../../util/time.ts'
import type { Locate } from '../bridge/context.ts'
import type { McpSession, SubscriptionEnd, Subscription } from './context.ts'

interface WatchParts {
  readonly locate: Locate
  readonly open: (url: URL, signal: AbortSignal) => Promise<McpSession>
  readonly uri: string
  /** The shortest interval between two reads. */
  readonly minIntervalMs: number
  /** Reads only after this time without a change, or after ten times this time of changes. */
  readonly settleMs?: number | undefined
  /** Also polls every `minIntervalMs`, for resources without updates. */
  readonly polls?: boolean
  readonly timer: Timer
  /** 0…1 */
  readonly random: () => number
  readonly hooks: WatchHooks
}

interface WatchHooks {
  /** Called when subscribed, at first and again after each loss of the server. May reject. */
  subscribed(session: McpSession, again: boolean, signal: AbortSignal): Promise<void>
  /** Called when the resource may have changed since the last read. May reject. */
  changed(session: McpSession, updates: number, signal: AbortSignal): Promise<void>
  away(reason: string): void
}

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
      if (!(error instanceof ServiceError) || !again || permanentCodes.includes(error.code))
        throw error
    }
    await pause(timer, retryDelay(attempt++, random), signal)
  }
}

/** Watches over one connection; resolves with the reason of its end. */
async function watchOnce(
  parts: WatchParts,
  again: boolean,
  signal: AbortSignal,
  subscribed: () => void,
): Promise<string> {
  const { uri, hooks, timer, minIntervalMs, settleMs, polls = false } = parts
  const place = await parts.locate()
  if (!place.ok) throw new ServiceError('network_failed', place.failure)
  const session = await parts.open(place.value.url, signal)
  const failed = Promise.withResolvers<SubscriptionEnd>()
  let ready = false
  const throttle = new Throttle({
    ...{ timer, minIntervalMs, settleMs },
    run: updates =>
      hooks.changed(session, updates, signal).catch((error: unknown) => {
        failed.resolve(asEnd(error))
      }),
  })
  let cancelPoll = (): void => {}
  const poll = (): void => {
    cancelPoll = timer.after(minIntervalMs, () => {
      throttle.poke()
      poll()
    })
  }
  try {
    let early = 0
    const updated = (): void => {
      if (ready) throttle.poke()
      else early++
    }
    const subscription: Subscription = await session.subscribe(uri, updated, signal)
    await hooks.subscribed(session, again, signal)
    subscribed()
    ready = true
    // These updates may be newer than what `subscribed` has read.
    if (early > 0) throttle.poke()
    if (polls) poll()
    const end = await Promise.race([subscription.ended, failed.promise])
    if (end.kind === 'refused') throw end.error
    return end.reason
  } finally {
    cancelPoll()
    throttle.stop()
    await session.close()
  }
}

/** Classifies a failed read: a lost server is retried, any other error ends the watch. */
function asEnd(error: unknown): SubscriptionEnd {
  if (!(error instanceof ServiceError)) {
    const message = messageOf(error)
    return { kind: 'refused', error: new ServiceError('internal', message, { cause: error }) }
  }
  const gone: readonly ErrorCode[] = ['network_failed', 'net_timeout', 'session_ended', 'cancelled']
  return gone.includes(error.code)
    ? { kind: 'lost', reason: error.message }
    : { kind: 'refused', error }
}
