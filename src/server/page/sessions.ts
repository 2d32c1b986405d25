import { hash, randomBytes } from 'node:crypto'
import type { ArtefactLimits } from '../artefacts/limits.ts'
import type { Clock } from '../../lib/util/time.ts'
import type { AuthAccepted, Viewer } from '../http/authentication.ts'

const minuteMs = 60_000
/** A link is opened at once, or a new one is made. */
export const codeMs = 5 * minuteMs
/** A working day. */
export const sessionMs = 12 * 60 * minuteMs
export const tokenMs = 10 * minuteMs
const maxCodes = 20
/** Sessions of all links together, and of each key. */
const maxSessions = 100
/** Each tab has one, and a new one before the old one expires. */
const maxTokens = 10

export const tokenPrefix = 'spt_'

const quotaWindowMs = 60 * 60_000

/** How many bytes a login may upload in an hour, counted from its first upload. */
export class UploadQuota {
  readonly #maxBytes: number
  readonly #clock: Clock
  #sinceMs = -Infinity
  #bytes = 0

  constructor(maxBytes: number, clock: Clock) {
    this.#maxBytes = maxBytes
    this.#clock = clock
  }

  /** Counts the bytes; false, without counting them, when they are too many. */
  take(bytes: number): boolean {
    if (!this.has(bytes)) return false
    this.#bytes += bytes
    return true
  }

  /** Whether so many would be accepted. */
  has(bytes: number): boolean {
    const nowMs = this.#clock.now()
    if (Math.abs(nowMs - this.#sinceMs) >= quotaWindowMs) {
      this.#sinceMs = nowMs
      this.#bytes = 0
    }
    return this.#bytes + bytes <= this.#maxBytes
  }

  /** Until more is taken. */
  get secondsLeft(): number {
    return Math.max(1, Math.ceil((this.#sinceMs + quotaWindowMs - this.#clock.now()) / 1000))
  }
}

/** A browser that is logged in. */
export interface PageSession {
  /** Another one for each session: what one has open is not cut with another. */
  readonly principal: string
  /** False: it was opened with a key that may only read. */
  readonly mayWrite: boolean
  /** False: it was opened with a key, and keys are what agents hold. */
  readonly mayNote: boolean
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number
  /** Absent: sees everything. */
  readonly viewer: Viewer | undefined
  isEnded: boolean
  /** Shared by the sessions of a key. */
  readonly uploads: UploadQuota
}

/** What a session is opened with. */
export interface Opening {
  readonly mayWrite: boolean
  /** The principal of the key: the session ends when that is revoked. Null: a link. */
  readonly keyHolder: string | null
  /** The session ends no later. */
  readonly expiresAtMs?: number
  readonly viewer?: Viewer
  /** The session ends when this calls back. */
  readonly watch?: AuthAccepted['watch']
}

type SessionLimits = Pick<ArtefactLimits, 'maxPageUploadBytes'>

interface Entry {
  readonly session: PageSession
  readonly keyHolder: string | null
  readonly unwatch: () => void
  /** Digests, oldest first. */
  readonly tokens: string[]
}

/**
 * The logins of the page, in the memory of this run: codes of links, sessions by their cookie, and
 * the bearer tokens of each session. Only hashes of the secrets are kept.
 */
export class PageSessions {
  readonly #clock: Clock
  readonly #limits: SessionLimits
  /** When each code expires; oldest first, like all here. */
  readonly #codes = new Map<string, number>()
  readonly #sessions = new Map<string, Entry>()
  readonly #tokens = new Map<string, { readonly session: PageSession; readonly untilMs: number }>()
  /** By the principal of a key: a new login must not start a new hour. */
  readonly #uploadsOfKeys = new Map<string, UploadQuota>()
  readonly #listeners = new Set<(principal: string) => void>()
  #opened = 0

  constructor(parts: { clock: Clock; limits: SessionLimits }) {
    this.#clock = parts.clock
    this.#limits = parts.limits
  }

  /** The code of a new link. */
  createCode(): string {
    const code = newSecret()
    this.#codes.set(digestOf(code), this.#clock.now() + codeMs)
    for (const oldest of excess(this.#codes, maxCodes)) this.#codes.delete(oldest)
    return code
  }

  /** Whether it is the code of a link; true once. */
  redeem(code: string): boolean {
    const digest = digestOf(code)
    const untilMs = this.#codes.get(digest) ?? -Infinity
    this.#codes.delete(digest)
    return this.#clock.now() < untilMs
  }

  /** Returns the cookie of a new session; the oldest one by links, or of its key, makes room. */
  open({ mayWrite, keyHolder, expiresAtMs = Infinity, viewer, watch }: Opening): string {
    const cookie = newSecret()
    const nowMs = this.#clock.now()
    const session: PageSession = {
      principal: `page:${++this.#opened}`,
      mayWrite,
      mayNote: keyHolder === null,
      expiresAtMs: Math.min(nowMs + sessionMs, expiresAtMs),
      viewer,
      isEnded: false,
      uploads: this.#uploadsOf(keyHolder),
    }
    const unwatch = watch?.(() => this.#end(digestOf(cookie))) ?? (() => {})
    this.#sessions.set(digestOf(cookie), { session, keyHolder, unwatch, tokens: [] })
    for (const oldest of excess(this.#openedWith(keyHolder), maxSessions)) this.#end(oldest)
    return cookie
  }

  /** A new bearer token of the session; null when there is none (any more). */
  createToken(cookie: string): string | null {
    const digest = digestOf(cookie)
    const entry = this.#sessions.get(digest)
    if (entry === undefined) return null
    const { session, tokens } = entry
    const nowMs = this.#clock.now()
    if (nowMs >= session.expiresAtMs) {
      this.#end(digest)
      return null
    }
    const token = tokenPrefix + newSecret()
    this.#tokens.set(digestOf(token), { session, untilMs: nowMs + tokenMs })
    tokens.push(digestOf(token))
    for (const oldest of tokens.splice(0, tokens.length - maxTokens)) this.#tokens.delete(oldest)
    return token
  }

  /** Whose token it is; null: unknown, expired, or its session has ended. */
  ofToken(token: string): PageSession | null {
    const found = this.#tokens.get(digestOf(token))
    const nowMs = this.#clock.now()
    if (found === undefined || nowMs >= Math.min(found.untilMs, found.session.expiresAtMs)) {
      return null
    }
    return found.session
  }

  /** Ends the session of a cookie with its tokens. */
  end(cookie: string): void {
    this.#end(digestOf(cookie))
  }

  /** Ends the sessions that were opened with a key. */
  endOf(keyHolder: string): void {
    for (const digest of this.#openedWith(keyHolder).keys()) this.#end(digest)
    this.#uploadsOfKeys.delete(keyHolder)
  }

  /** Calls back with the principal of each session that ends. Returns the way to stop listening. */
  onEnded(listener: (principal: string) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Oldest first. Null: with links. */
  #openedWith(keyHolder: string | null): ReadonlyMap<string, Entry> {
    return new Map([...this.#sessions].filter(([, entry]) => entry.keyHolder === keyHolder))
  }

  #uploadsOf(keyHolder: string | null): UploadQuota {
    const fresh = () => new UploadQuota(this.#limits.maxPageUploadBytes, this.#clock)
    if (keyHolder === null) return fresh()
    const quota = this.#uploadsOfKeys.get(keyHolder) ?? fresh()
    this.#uploadsOfKeys.set(keyHolder, quota)
    return quota
  }

  #end(digest: string): void {
    const entry = this.#sessions.get(digest)
    if (entry === undefined) return
    this.#sessions.delete(digest)
    entry.session.isEnded = true
    entry.unwatch()
    for (const token of entry.tokens) this.#tokens.delete(token)
    for (const told of this.#listeners) told(entry.session.principal)
  }
}

/** 256 bits. */
function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** A plain hash is enough for random secrets: neither it nor its look-up reveals a part of one. */
function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

function excess(map: ReadonlyMap<string, unknown>, most: number): readonly string[] {
  return map.size > most ? [...map.keys()].slice(0, map.size - most) : []
}
