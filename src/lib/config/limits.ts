import { findUnknownMember, omitUndefined } from '../util/members.ts'
import { maxTimerMs } from '../util/time.ts'

const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/**
 * The bounds that an operator may change, by `--limit` or the `limits` of the library.
 * `docs/limits.md` has one row for each. Sizes in bytes, times in milliseconds.
 */
export interface Limits {
  /** One POST /mcp body. */
  maxRequestBytes: number
  /** One scene, one message of the host link, or one post of the application. */
  maxMessageBytes: number
  /** Live sessions; beyond it the longest idle one without a stream ends. */
  maxSessions: number
  /** A session without a request and without a stream ends after this. */
  sessionIdleMs: number
  /** Subscriptions of all sessions and listen streams together. */
  maxSubscriptions: number
  /** A comment line keeps an idle event stream open. */
  streamKeepAliveMs: number
  /** Resources on one page of a listing. */
  pageSize: number
  /** One artefact; 0 = no bound. */
  maxArtefactBytes: number
  /** All artefacts; the oldest are removed; 0 = no bound. */
  maxArtefactTotalBytes: number
  /** The default lifetime of an artefact; 0 = no limit. */
  artefactTtlMs: number
  /** One capture method must give a picture within this time; then the next one is tried. */
  captureMs: number
}

export const defaultLimits: Readonly<Limits> = Object.freeze({
  maxRequestBytes: 1 * MiB,
  maxMessageBytes: 64 * MiB,
  maxSessions: 10_000,
  sessionIdleMs: 60 * 60 * 1000,
  maxSubscriptions: 200_000,
  streamKeepAliveMs: 15_000,
  pageSize: 500,
  maxArtefactBytes: 16 * GiB,
  maxArtefactTotalBytes: 64 * GiB,
  artefactTtlMs: 30 * 24 * 60 * 60 * 1000,
  captureMs: 10_000,
})

/** Bounds that mean nothing at 0. */
const positive = ['pageSize', 'captureMs', 'accessTokenMs']
/** Times that a timer waits for. */
const timers = ['streamKeepAliveMs', 'captureMs']

/**
 * Returns the given limits without undefined ones. Throws `TypeError` for an unknown name, and for a
 * value that is not a whole number in range.
 */
export function checkLimits(
  given: Partial<Limits> = {},
  defaults: object = defaultLimits,
): Partial<Limits> {
  const limits = omitUndefined(given)
  const unknown = findUnknownMember(limits, Object.keys(defaults), 'limit')
  if (unknown !== null) throw new TypeError(unknown)
  for (const [name, value] of Object.entries(limits)) {
    const least = positive.includes(name) ? 1 : 0
    const most = timers.includes(name) ? maxTimerMs : Number.MAX_SAFE_INTEGER
    if (!Number.isSafeInteger(value) || value < least || value > most) {
      throw new TypeError(`limit "${name}" must be a whole number from ${least} to ${most}`)
    }
  }
  return limits
}
