import type { KeyObject } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'

/** `next`: published, so that verifiers know it before it is used. */
export type KeyState = 'next' | 'active' | 'retired'

/** What is stored. */
export interface KeyRing {
  readonly signing: readonly SigningKey[]
  readonly refresh: readonly RefreshKey[]
}

export interface KeyAge {
  readonly state: KeyState
  readonly createdAtMs: number
  /** Since when it was in use. */
  readonly activeAtMs: number | null
  readonly retiredAtMs: number | null
}

interface SigningKey extends KeyAge {
  readonly kid: string
  readonly jwk: PrivateJwk
}

/** RFC 7518, section 6.2. */
export interface PrivateJwk {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly d: string
}

interface RefreshKey extends KeyAge {
  /** 0 to 255. */
  readonly id: number
  /** 32 bytes, base64url. */
  readonly secret: string
}

export interface Lifetimes {
  readonly accessTokenMs: number
  readonly refreshTokenMs: number
}

/** Keys just made, whatever they are to become. */
export interface FreshKeys {
  readonly signing: readonly [Pick<SigningKey, 'kid' | 'jwk'>, Pick<SigningKey, 'kid' | 'jwk'>]
  readonly refreshSecret: string
}

/** Between the clocks of those who sign and those who check. */
const skewMs = 5 * 60 * 1000
const refreshIds = 256

export function firstRing({ signing: [first, second], refreshSecret }: FreshKeys, nowMs: number) {
  const active = { state: 'active', createdAtMs: nowMs, activeAtMs: nowMs } as const
  return {
    signing: [
      { ...first, ...active, retiredAtMs: null },
      { ...second, ...waiting(nowMs) },
    ],
    refresh: [{ id: 0, secret: refreshSecret, ...active, retiredAtMs: null }],
  } satisfies KeyRing
}

/** What was published ahead is used from now on; what was used retires. */
export function rotateRing(ring: KeyRing, fresh: FreshKeys, nowMs: number): KeyRing {
  const [ahead, spare] = fresh.signing
  const signing = ring.signing.map(key => advance(key, nowMs))
  if (!ring.signing.some(key => key.state === 'next')) {
    signing.push({ ...spare, ...waiting(nowMs), state: 'active', activeAtMs: nowMs })
  }
  const refresh = ring.refresh.map(key => advance(key, nowMs))
  return {
    signing: [...signing, { ...ahead, ...waiting(nowMs) }],
    refresh: [
      ...refresh,
      {
        id: freeId(ring.refresh),
        secret: fresh.refreshSecret,
        ...waiting(nowMs),
        state: 'active',
        activeAtMs: nowMs,
      },
    ],
  }
}

/** Nothing of the old ring is trusted any more, what was published ahead included. */
export function replaceRing(ring: KeyRing, fresh: FreshKeys, nowMs: number): KeyRing {
  const { signing, refresh } = firstRing(fresh, nowMs)
  return { signing, refresh: refresh.map(key => ({ ...key, id: freeId(ring.refresh) })) }
}

/** Without keys whose last token has expired; the same ring when there are none. */
export function dropExpired(ring: KeyRing, lifetimes: Lifetimes, nowMs: number): KeyRing {
  const { accessTokenMs, refreshTokenMs } = lifetimes
  const lives = (lifetimeMs: number) => (key: KeyAge) =>
    key.retiredAtMs === null || nowMs <= key.retiredAtMs + lifetimeMs + skewMs
  const signing = ring.signing.filter(lives(accessTokenMs))
  const refresh = ring.refresh.filter(lives(refreshTokenMs))
  const same = signing.length === ring.signing.length && refresh.length === ring.refresh.length
  return same ? ring : { signing, refresh }
}

export function isRotationDue(ring: KeyRing, rotationMs: number, nowMs: number): boolean {
  const active = ring.signing.find(key => key.state === 'active')
  return active?.activeAtMs != null && nowMs - active.activeAtMs >= rotationMs
}

function advance<Key extends KeyAge>(key: Key, nowMs: number): Key {
  if (key.state === 'next') return { ...key, state: 'active', activeAtMs: nowMs }
  if (key.state === 'active') return { ...key, state: 'retired', retiredAtMs: nowMs }
  return key
}

function waiting(nowMs: number) {
  return { state: 'next' as const, createdAtMs: nowMs, activeAtMs: null, retiredAtMs: null }
}

/** The one after the newest, so that a number comes again as late as possible. */
function freeId(keys: readonly RefreshKey[]): number {
  const used = new Set(keys.map(key => key.id))
  const newest = keys.at(-1)?.id ?? -1
  for (let step = 1; step <= refreshIds; step++) {
    const id = (newest + step) % refreshIds
    if (!used.has(id)) return id
  }
  throw new RangeError('256 refresh keys are in use')
}

/** The keys of a ring, imported. */
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
