import type { KeyObject } from 'node:crypto'
import type { JSONWebKeySet } from 'jose'

/** What tokens are made and checked with. Asked anew each time: keys are rotated while it runs. */
export interface TokenKeys {
  /** The active key. */
  signing(): MaybePromise<SigningKey>
  /** Active, next or retired; null for any other. */
  verifying(kid: string): MaybePromise<VerifyingKey | null>
  /** The public halves, as `/.well-known/jwks.json` shows them. */
  jwks(): MaybePromise<JSONWebKeySet>
  refreshing(): MaybePromise<RefreshKey>
  findRefreshing(id: number): MaybePromise<RefreshKey | null>
}

export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: KeyObject
}

export interface VerifyingKey {
  readonly alg: string
  readonly publicKey: KeyObject
}

export interface RefreshKey {
  /** One byte: it is in every refresh token. */
  readonly id: number
  readonly secret: KeyObject
}

type MaybePromise<Value> = Value | Promise<Value>
