import type { KeyObject } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'

/** The keys that tokens are signed with, kept beside the accounts and never among them. */
export interface KeyStore {
  /** What to sign and to check with at this moment; cheap, so ask for each token. */
  current(): KeySet
  /** All of them, oldest first, without what is secret. */
  list(): readonly KeyFacts[]
  /**
   * The key that was published ahead becomes the one in use, and another one is published ahead.
   * Tokens of the replaced key stay valid until they expire; of a `compromised` one, and of all
   * others that were stored, they are void at once.
   */
  rotate(options?: { readonly compromised?: boolean }): Promise<void>
  /**
   * Takes over what another process stored, and rotates when it is time. Keys that cannot be used
   * are an error once; the keys at hand stay. A running server does this again and again.
   */
  update(): Promise<void>
}

export interface KeySet {
  /** Its `kid` goes into the header of the tokens. */
  readonly signing: { readonly kid: string; readonly alg: 'ES256'; readonly key: CryptoKey }
  /** Public keys by `kid`: everything that a valid token may be signed with. */
  readonly verifying: ReadonlyMap<string, CryptoKey>
  /** The same, for `/.well-known/jwks.json`. */
  readonly jwks: { readonly keys: readonly JWK[] }
  /** For the MAC of refresh tokens; the id, one byte, is written into them. */
  readonly refresh: { readonly id: number; readonly key: KeyObject }
  readonly refreshKeys: ReadonlyMap<number, KeyObject>
}

export interface KeyFacts {
  readonly use: 'signing' | 'refresh'
  /** The `kid`, or the number of a refresh key. */
  readonly id: string
  readonly state: KeyState
  readonly createdAtMs: number
  readonly retiredAtMs: number | null
}

/** `next`: published, so that verifiers know it before it is used. */
export type KeyState = 'next' | 'active' | 'retired'
