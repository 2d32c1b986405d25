import { randomBytes } from 'node:crypto'
import { hashOfSecret } from '../../lib/util/secret.ts'
import { type Clock, systemClock } from '../../lib/util/time.ts'
import type { AuthAccepted } from '../http/authentication.ts'

/** A link is opened at once, or a new one is made. */
export const codeMs = 5 * 60_000
/** A working day. */
export const sessionMs = 12 * 60 * 60_000
/** Of all links together, and of each key: a further login ends the oldest one. */
const maxSessions = 100

/** What a session is opened with. It ends when `watch` calls back, and no later than `expiresAtMs`. */
export interface Opening extends Pick<AuthAccepted, 'expiresAtMs' | 'viewer' | 'watch'> {
  /** The principal of the key. Null: a link. */
  readonly keyHolder: string | null
  /** False: the key may only read. */
  readonly mayWrite: boolean
}

/** A browser that is logged in. */
export interface PageSession extends Opening {
  /** Another one for each session: what one has open is not cut with another. */
  readonly principal: string
  readonly expiresAtMs: number
  /** Of what the session has open. */
  readonly watchers: Set<() => void>
  unwatch?: () => void
}

/**
 * The logins of the page, in the memory of this run: codes of links, and sessions by their cookie.
 * Only hashes of both are kept.
 */
export class PageSessions {
  readonly #clock: Clock
  /** When each code expires. */
  readonly #codes = new Map<string, number>()
  /** Oldest first. */
  readonly #sessions = new Map<string, PageSession>()
  #opened = 0

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** The code of a new link. */
  createCode(): string {
    const code = newSecret()
    this.#codes.set(hashOfSecret(code), this.#clock.now() + codeMs)
    return code
  }

  /** Whether it is the code of a link; true once. */
  redeem(code: string): boolean {
    const digest = hashOfSecret(code)
    const untilMs = this.#codes.get(digest) ?? -Infinity
    this.#codes.delete(digest)
    return this.#clock.now() < untilMs
  }

  /** Returns the cookie of a new session, and how many seconds it lasts. */
  open(opening: Opening): { cookie: string; seconds: number } {
    const cookie = newSecret()
    const digest = hashOfSecret(cookie)
    const nowMs = this.#clock.now()
    const expiresAtMs = Math.min(nowMs + sessionMs, opening.expiresAtMs ?? Infinity)
    const principal = `page:${++this.#opened}`
    const session: PageSession = { ...opening, principal, expiresAtMs, watchers: new Set() }
    this.#sessions.set(digest, session)
    session.unwatch = opening.watch?.(() => this.#end(digest))
    const alike = [...this.#sessions].filter(([, { keyHolder }]) => keyHolder === opening.keyHolder)
    if (alike.length > maxSessions) this.#end(alike[0]![0])
    return { cookie, seconds: Math.floor((expiresAtMs - nowMs) / 1000) }
  }

  /** Null: the cookie is unknown, or its session has ended. */
  find(cookie: string): PageSession | null {
    const session = this.#sessions.get(hashOfSecret(cookie))
    if (session === undefined) return null
    if (this.#clock.now() < session.expiresAtMs) return session
    this.end(cookie)
    return null
  }

  end(cookie: string): void {
    this.#end(hashOfSecret(cookie))
  }

  /** Calls back when the session ends. Returns the stop. */
  watch({ watchers }: PageSession, ended: () => void): () => void {
    watchers.add(ended)
    return () => void watchers.delete(ended)
  }

  #end(digest: string): void {
    const session = this.#sessions.get(digest)
    if (session === undefined) return
    this.#sessions.delete(digest)
    session.unwatch?.()
    for (const ended of session.watchers) ended()
  }
}

/** 256 bits. */
function newSecret(): string {
  return randomBytes(32).toString('base64url')
}
