import { type ErrorCode, ServiceError } from '../../util/errors.ts'
import { Throttle } from '../../util/throttle.ts'
import { pause, retryDelay, type Timer } from '../../util/time.ts'
import type { Locate } from '../bridge/context.ts'
import type { McpSession, Subscription } from './context.ts'

interface WatchParts {
  readonly locate: Locate
  readonly open: (url: URL, signal: AbortSignal) => Promise<McpSession>
  readonly uri: string
  /** The shortest interval between two reads. */
  readonly minIntervalMs: number
  /** Reads only after this time without a change, or after ten times this time of changes. */
  readonly settleMs?: number
  /** Also polls every `minIntervalMs`, for resources without updates. */
  readonly polls?: boolean
  readonly timer: Timer
  /** 0…1 */
  readonly random: () => number
  readonly hooks: WatchHooks
}

interface WatchHooks {
  /** Called when subscribed; `absence` is null at first. May reject. */
  subscribed(session: McpSession, absence: Absence | null, signal: AbortSignal): Promise<void>
  /** Called when the resource may have changed since the last read. May reject. */
  changed(session: McpSession, updates: number, signal: AbortSignal): Promise<void>
  away(absence: Absence): void
  /** Returns the error to report when the first attempt fails. */
  refused(error: unknown, session: McpSession): Promise<unknown>
}

/** Why the resource was not watched for a while. */
export interface Absence {
  readonly reason: string
  /** False: the server answered, but not with the resource. */
  readonly isServer: boolean
  readonly sinceMs: number
  /** Of the server, until it answered again; it may have got the resource later. */
  readonly awayMs: number | null
}

/** Errors that retrying cannot fix. */
const permanentCodes: readonly ErrorCode[] = [
  'auth_required',
  'auth_refused',
  'usage_invalid',
  'config_invalid',
  'storage_failed',
]

/** Errors of a server that is away. */
const lostCodes: readonly ErrorCode[] = [
  'network_failed',
  'net_timeout',
  'session_ended',
  'cancelled',
]

/** What is known across attempts. */
interface Progress {
  /** Was subscribed at least once. */
  again: boolean
  /** Failed attempts since the server answered, or went. */
  attempt: number
  absence: Absence | null
}

/**
 * Watches a resource until the signal is aborted; reconnects after restarts of the server.
 * Rejects with `ServiceError` when the first attempt fails or an error is permanent.
 */
export async function watchResource(parts: WatchParts, signal: AbortSignal): Promise<void> {
  const { timer, random, hooks } = parts
  const progress: Progress = { again: false, attempt: 0, absence: null }
  while (!signal.aborted) {
    try {
      await watchOnce(parts, progress, signal)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof ServiceError) || !progress.again) throw error
      if (permanentCodes.includes(error.code)) throw error
      const isServer = lostCodes.includes(error.code)
      if (progress.absence === null || (isServer && !progress.absence.isServer)) {
        const sinceMs = performance.now()
        progress.absence = { reason: error.message, isServer, sinceMs, awayMs: null }
        hooks.away(progress.absence)
      } else if (isServer) {
        // It went again, or another server had its address.
        progress.absence = { ...progress.absence, awayMs: null }
      }
    }
    await pause(timer, retryDelay(progress.attempt++, random), signal)
  }
}

/** A look at the instance records costs little, so the next one is soon. */
const maxLocateAttempt = 1

/** Watches over one connection; always rejects with the reason of its end. */
async function watchOnce(
  parts: WatchParts,
  progress: Progress,
  signal: AbortSignal,
): Promise<never> {
  const { uri, hooks, timer, minIntervalMs, settleMs, polls = false } = parts
  const place = await parts.locate()
  if (!place.ok) {
    progress.attempt = Math.min(progress.attempt, maxLocateAttempt)
    throw new ServiceError('network_failed', place.failure)
  }
  const session = await parts.open(place.value.url, signal)
  const { absence } = progress
  if (absence?.isServer === true && absence.awayMs === null) {
    progress.absence = { ...absence, awayMs: performance.now() - absence.sinceMs }
    progress.attempt = 0
  }
  const failed = Promise.withResolvers<never>()
  // Awaited later; without this, an earlier failure would leave the rejection unhandled.
  failed.promise.catch(() => {})
  let ready = false
  const throttle = new Throttle({
    timer,
    minIntervalMs,
    settleMs,
    run: updates =>
      hooks.changed(session, updates, signal).catch((error: unknown) => {
        failed.reject(error)
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
    const subscribe = async (): Promise<Subscription> => {
      const subscription = await session.subscribe(uri, updated, signal)
      await hooks.subscribed(session, progress.absence, signal)
      return subscription
    }
    const subscription = await subscribe().catch(async (error: unknown) => {
      throw progress.again ? error : await hooks.refused(error, session)
    })
    Object.assign(progress, { again: true, attempt: 0, absence: null })
    ready = true
    // These updates may be newer than what `subscribed` has read.
    if (early > 0) throttle.poke()
    if (polls) poll()
    const end = await Promise.race([subscription.ended, failed.promise])
    throw end.kind === 'refused' ? end.error : new ServiceError('network_failed', end.reason)
  } finally {
    cancelPoll()
    throttle.stop()
    await session.close()
  }
}
