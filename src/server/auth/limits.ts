import { maxTimerMs, resolveBounds } from '../../lib/util/bounds.ts'

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

  /** Characters of an access token. */
  maxAccessTokenChars: number
  /** Characters of the subject, and of the client, that a token names. */
  maxSubjectChars: number
  /** How far the clocks of this server and of the OAuth provider may be apart. */
  tokenClockToleranceMs: number
  /** Tokens known to be good, so that not each request has to prove its own again. */
  maxVerifiedTokens: number
  /** An answer of the OAuth provider must be complete after this. */
  providerTimeoutMs: number
  /** Bytes of an answer of the OAuth provider. */
  maxProviderBytes: number
  /** Keys of the OAuth provider. */
  maxProviderKeys: number
  /** What the OAuth provider says of itself stays true for so long. */
  providerMetadataFreshMs: number
  /** Keys of the OAuth provider are asked for again after this: a removed one works until then. */
  providerKeysFreshMs: number
  /** Keys of an OAuth provider that is down go on working for so long. */
  maxProviderKeysAgeMs: number
  /** Tokens with an unknown key make the OAuth provider be asked at most once in this time. */
  unknownKeyCooldownMs: number
  /** A failing OAuth provider is left alone for so long; it doubles with each further failure. */
  providerRetryMs: number
  /** The longest such pause. */
  maxProviderRetryMs: number
}

/** Times in milliseconds; frozen. */
export const defaultAuthLimits: Readonly<AuthLimits> = Object.freeze({
  keysFreshMs: 100,
  keysPollMs: 1000,
  maxAuthFailures: 100,
  authFailureWindowMs: 60_000,
  maxAuthFailurePeers: 10_000,

  maxAccessTokenChars: 8192,
  maxSubjectChars: 1024,
  tokenClockToleranceMs: 5000,
  maxVerifiedTokens: 1000,
  providerTimeoutMs: 5000,
  maxProviderBytes: 256 * 1024,
  maxProviderKeys: 100,
  providerMetadataFreshMs: 3_600_000,
  providerKeysFreshMs: 600_000,
  maxProviderKeysAgeMs: 86_400_000,
  unknownKeyCooldownMs: 5000,
  providerRetryMs: 1000,
  maxProviderRetryMs: 60_000,
})

/** Zero would be a busy loop, a provider asked for each token, or a count of nobody. */
const atLeastOne: readonly string[] = [
  'keysPollMs',
  'maxAuthFailurePeers',
  'providerTimeoutMs',
  'providerKeysFreshMs',
  'unknownKeyCooldownMs',
  'providerRetryMs',
  'maxProviderRetryMs',
]

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
