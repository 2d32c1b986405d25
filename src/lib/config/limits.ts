import { maxTimerMs } from '../util/time.ts'

const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/**
 * The bounds that an operator may change, by `--limit` or the `limits` of the library.
 * `docs/reference.md` has one row for each. Sizes in bytes, times in milliseconds.
 */
const limits = {
  /** One POST /mcp body. */
  maxRequestBytes: 1 * MiB,
  /** One scene, one message of the host link, or one post of the application. */
  maxMessageBytes: 64 * MiB,
  /** Live sessions; beyond it the longest idle one without a stream ends. */
  maxSessions: 10_000,
  /** A session without a request and without a stream ends after this. */
  sessionIdleMs: 60 * 60 * 1000,
  /** Subscriptions of all sessions and listen streams together. */
  maxSubscriptions: 200_000,
  /** A comment line keeps an idle event stream open. */
  streamKeepAliveMs: 15_000,
  /** Resources on one page of a listing. */
  pageSize: 500,
  /** One artefact; 0 = no bound. */
  maxArtefactBytes: 16 * GiB,
  /** All artefacts; the oldest are removed; 0 = no bound. */
  maxArtefactTotalBytes: 64 * GiB,
  /** The default lifetime of an artefact; 0 = no limit. */
  artefactTtlMs: 30 * 24 * 60 * 60 * 1000,
  /** One capture method must give a picture within this time; then the next one is tried. */
  captureMs: 10_000,
}

export type Limits = typeof limits
export const defaultLimits: Readonly<Limits> = Object.freeze(limits)

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
  const checked = Object.entries(given).filter(([, value]) => value !== undefined)
  for (const [name, value] of checked) {
    if (!Object.hasOwn(defaults, name)) throw new TypeError(`unknown limit "${name}"`)
    const least = positive.includes(name) ? 1 : 0
    const most = timers.includes(name) ? maxTimerMs : Number.MAX_SAFE_INTEGER
    if (!Number.isSafeInteger(value) || value < least || value > most) {
      throw new TypeError(`limit "${name}" must be a whole number from ${least} to ${most}`)
    }
  }
  return Object.fromEntries(checked)
}
