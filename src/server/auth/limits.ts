import { maxTimerMs, resolveBounds } from '../../lib/bounds.ts'

/**
 * Every bound of authentication, with its default. `docs/limits.md` has one row for each; a test
 * holds the two against each other.
 */
export interface AuthLimits {
  /** A look at `keys.json` stays true for so long: a revoked key may pass until then. */
  keysFreshMs: number
  /** `keys.json` is looked at this often, whether there are requests or not. */
  keysPollMs: number
  /** Requests of one address with wrong credentials in `authFailureWindowMs`; further ones: 429. */
  maxAuthFailures: number
  /** They are counted over this time. */
  authFailureWindowMs: number
  /** Addresses for which they are counted; the one counted for longest goes first. */
  maxAuthFailurePeers: number
}

/** Times in milliseconds; frozen. */
export const defaultAuthLimits: Readonly<AuthLimits> = Object.freeze({
  keysFreshMs: 100,
  keysPollMs: 1000,
  maxAuthFailures: 20,
  authFailureWindowMs: 60_000,
  maxAuthFailurePeers: 10_000,
})

/** Zero of these would be a busy loop, or a count of nobody. */
const atLeastOne: readonly string[] = ['keysPollMs', 'maxAuthFailurePeers']

/**
 * The defaults with the given ones in their place; undefined counts as not given. Throws
 * `TypeError` for an unknown name, and for a value that is no whole number of its range.
 */
export function resolveAuthLimits(overrides: Partial<AuthLimits> = {}): AuthLimits {
  return resolveBounds(defaultAuthLimits, overrides, name => [
    atLeastOne.includes(name) ? 1 : 0,
    name.endsWith('Ms') ? maxTimerMs : Number.MAX_SAFE_INTEGER,
  ])
}
