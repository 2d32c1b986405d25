import { defaultPublicLimits, type PublicLimits } from '../../lib/config/limits.ts'

/** Every bound of authentication. */
export interface AuthLimits extends Pick<PublicLimits, 'maxAuthFailures'> {
  /** A look at `keys.json` stays true for so long: a revoked key may pass until then. */
  keysFreshMs: number
  /** `keys.json` is looked at this often, whether there are requests or not. */
  keysPollMs: number
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

/** Sizes in bytes, times in milliseconds. */
export const defaultAuthLimits: Readonly<AuthLimits> = {
  maxAuthFailures: defaultPublicLimits.maxAuthFailures,
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

/** The defaults with the given bounds in their place. */
export function resolveAuthLimits(bounds: Partial<AuthLimits> = {}): AuthLimits {
  return { ...defaultAuthLimits, ...bounds }
}
