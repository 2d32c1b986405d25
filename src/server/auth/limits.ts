/** The bounds of authentication. */
export interface AuthLimits {
  /** Requests of one address with wrong credentials in `authFailureWindowMs`; further ones: 429. */
  maxAuthFailures: number
  /** The accounts server is asked again this often for each open token. */
  joinTokenCheckMs: number
  /** How long a check of `keys.json` counts: a revoked key may pass until then. */
  keysFreshMs: number
  /** The interval of checks of `keys.json` without requests. */
  keysPollMs: number
  /** The period over which failures are counted. */
  authFailureWindowMs: number
  /** Counted addresses; the oldest count is dropped first. */
  maxAuthFailurePeers: number

  /** Characters of an access token. */
  maxAccessTokenChars: number
  /** Characters of the subject, and of the client id, of a token. */
  maxSubjectChars: number
  /** The accepted clock skew between this server and the OAuth provider. */
  tokenClockToleranceMs: number
  /** Cached valid tokens, which need no further signature check. */
  maxVerifiedTokens: number
  /** For a complete answer of the OAuth provider. */
  providerTimeoutMs: number
  /** Bytes of an answer of the OAuth provider. */
  maxProviderBytes: number
  /** Keys of the OAuth provider. */
  maxProviderKeys: number
  /** How long the metadata of the OAuth provider is cached. */
  providerMetadataFreshMs: number
  /** How long the provider's keys are cached: a removed one works until then. */
  providerKeysFreshMs: number
  /** How long cached keys work while the provider is down. */
  maxProviderKeysAgeMs: number
  /** Unknown key ids cause at most one request to the provider in this time. */
  unknownKeyCooldownMs: number
  /** The first retry delay for a failing provider; doubles with each failure. */
  providerRetryMs: number
  /** The longest retry delay. */
  maxProviderRetryMs: number
}

/** Sizes in bytes, times in milliseconds. */
export const defaultAuthLimits: Readonly<AuthLimits> = {
  maxAuthFailures: 100,
  // With the time of the check itself, a revoked token cuts its link within 5 s.
  joinTokenCheckMs: 3000,
  keysFreshMs: 100,
  keysPollMs: 1000,
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
}

/** The defaults, overridden by the given bounds. */
export function resolveAuthLimits(bounds: Partial<AuthLimits> = {}): AuthLimits {
  return { ...defaultAuthLimits, ...bounds }
}
