import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import pLimit from 'p-limit'
import { z } from 'zod'
import { apiPrefix } from '../../lib/accounts/protocol.ts'
import { meResponse } from '../../lib/accounts/wire.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import type { AccountsUrl } from '../../lib/config/accounts-url.ts'
import { messageOf } from '../../lib/util/errors.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import { Secret } from '../../lib/util/secret.ts'
import { type Clock, monotonicClock, repeat, systemTimer, type Timer } from '../../lib/util/time.ts'
import { userAgent } from '../../lib/util/version.ts'
import { type AuthOutcome, type AuthPolicy, refuse } from '../http/authentication.ts'
import { chain, type MaybePromise } from '../resources/maybe-promise.ts'
import type { FailureLimit } from './failure-limit.ts'

/** What the accounts server says of a token; its `token` is null for that of a login. */
const tokenAccount = meResponse.omit({ email: true, created_at: true, session: true })
const problem = z.object({ detail: z.string() })

/** `unavailable`: the accounts server cannot be asked. `reason` is a clause for people. */
export interface TokenRefusal {
  readonly kind: 'invalid' | 'unavailable'
  readonly reason: string
}

export type CheckedToken = Result<z.infer<typeof tokenAccount>, TokenRefusal>

interface KnownToken {
  readonly digest: string
  readonly token: Secret
  /** Null: before the first answer. */
  account: z.infer<typeof tokenAccount> | null
  /** When the accounts server last accepted it. */
  acceptedMs: number
  /** When the accounts server was last asked, whatever it said. */
  askedMs: number
  pendingCheck: Promise<CheckedToken> | null
  /** Called when the token is refused, or its account has changed. */
  readonly listeners: Set<(now: CheckedToken) => void>
}

/** Requests to the accounts server at the same time. */
const maxRequests = 32
const requestMs = 2000
/** Tokens that are remembered; the one used longest ago goes, unless something is open with it. */
const maxKnown = 10_000
/** While the accounts server is away, a token is accepted for so long after its last check. */
const awayMs = 60_000

/** A service token, or the signed token of a login. */
const tokenForm = /^(?:svc_[\w-]{40}|[\w-]+\.[\w-]+\.[\w-]+)$/

/**
 * Tokens of an accounts server, which is asked for each of them at most once in `checkMs`, and as
 * often while something is open with it. Tokens are found by their digest.
 */
export class AccountTokens {
  readonly #url: string
  readonly #checkMs: number
  readonly #ticks: Clock
  readonly #limit = pLimit(maxRequests)
  /** Least recently used first. */
  readonly #known = new Map<string, KnownToken>()
  readonly #stop: () => void

  constructor(
    server: AccountsUrl,
    checkMs: number,
    ticks: Clock = monotonicClock,
    timer: Timer = systemTimer,
  ) {
    this.#url = `${server.url}${apiPrefix}/me`
    this.#checkMs = checkMs
    this.#ticks = ticks
    this.#stop = repeat(timer, checkMs, () => this.#checkListened())
  }

  check(token: string): MaybePromise<CheckedToken> {
    if (!tokenForm.test(token)) {
      return fail({ kind: 'invalid', reason: 'it is no token of the accounts server' })
    }
    const known = this.#recall(token)
    const isRecent = this.#ticks.now() - known.askedMs < this.#checkMs
    return (isRecent ? this.#cachedResult(known) : null) ?? this.#ask(known)
  }

  /** Calls back when the token is refused, or its account has changed. Returns the stop. */
  watch(token: string, listener: (now: CheckedToken) => void): () => void {
    const { listeners } = this.#recall(token)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  close(): void {
    this.#stop()
  }

  #recall(token: string): KnownToken {
    const digest = hash('sha256', token)
    const times = { acceptedMs: -Infinity, askedMs: -Infinity }
    const known = this.#known.get(digest) ?? {
      ...times,
      digest,
      token: new Secret(token),
      account: null,
      pendingCheck: null,
      listeners: new Set(),
    }
    this.#known.delete(digest)
    if (this.#known.size >= maxKnown) {
      const oldest = this.#known.values().find(({ listeners }) => listeners.size === 0)
      if (oldest !== undefined) this.#known.delete(oldest.digest)
    }
    this.#known.set(digest, known)
    return known
  }

  /** One request for all who ask meanwhile. */
  #ask(known: KnownToken): Promise<CheckedToken> {
    known.pendingCheck ??= this.#limit(() => this.#askServer(known.token))
      .then(checked => this.#note(known, checked))
      .finally(() => (known.pendingCheck = null))
    return known.pendingCheck
  }

  async #askServer(token: Secret): Promise<CheckedToken> {
    try {
      const answer = await fetch(this.#url, {
        headers: { Authorization: `Bearer ${token.reveal()}`, 'User-Agent': userAgent },
        redirect: 'error',
        signal: AbortSignal.timeout(requestMs),
      })
      if (answer.ok) return ok(tokenAccount.parse(await answer.json()))
      const kind = [401, 403].includes(answer.status) ? 'invalid' : 'unavailable'
      const { data } = problem.safeParse(await answer.json().catch(() => null))
      return fail({ kind, reason: data?.detail ?? `it is refused with status ${answer.status}` })
    } catch (error) {
      return fail({ kind: 'unavailable', reason: messageOf(error) })
    }
  }

  #note(known: KnownToken, checked: CheckedToken): CheckedToken {
    known.askedMs = this.#ticks.now()
    if (checked.ok) {
      const isSame = isDeepStrictEqual(known.account, checked.value)
      known.account = checked.value
      known.acceptedMs = known.askedMs
      if (isSame) return checked
      this.#invalidateAccount(known)
    } else if (checked.failure.kind === 'unavailable') {
      const cached = this.#cachedResult(known)
      if (cached !== null) return cached
    } else this.#known.delete(known.digest)
    for (const listener of [...known.listeners]) listener(checked)
    return checked
  }

  /** Other tokens of an account that has changed are checked when they are next used. */
  #invalidateAccount({ digest, account }: KnownToken): void {
    for (const known of this.#known.values()) {
      if (known.account?.id === account?.id && known.digest !== digest) known.askedMs = -Infinity
    }
  }

  #cachedResult({ account, acceptedMs }: KnownToken): CheckedToken | null {
    return account !== null && this.#ticks.now() - acceptedMs < awayMs ? ok(account) : null
  }

  async #checkListened(): Promise<void> {
    const listened = [...this.#known.values()].filter(({ listeners }) => listeners.size > 0)
    await Promise.all(listened.map(known => this.#ask(known)))
  }
}

/** Accepts the tokens of an accounts server, whose users see what is theirs, beside all `keys`. */
export function withAccountTokens(
  keys: AuthPolicy,
  tokens: AccountTokens,
  failures: FailureLimit,
): AuthPolicy {
  function decide(token: string, checked: CheckedToken, peer: string): MaybePromise<AuthOutcome> {
    if (!checked.ok) {
      const { kind, reason } = checked.failure
      if (kind === 'unavailable') return unavailable
      return failures.refused(peer, refuse(401, 'invalid_token', reason))
    }
    const { id: accountId, username, team, scopes, token: service } = checked.value
    const isAll = scopes.includes('read')
    const schemes = scopes.filter(each => each.startsWith('read:')).map(each => each.slice(5))
    if (!isAll && schemes.length === 0) return insufficient
    return {
      ok: true,
      principal: `user:${username}${service === null ? '' : ` token:${service.name}`}`,
      viewer: { accountId, username, team, schemes: isAll ? null : schemes.toSorted() },
      watch: ended => tokens.watch(token, () => ended()),
    }
  }

  return {
    ...keys,
    authenticate(caller) {
      const sent = caller.headers.authorization
      if (sent === undefined) return tokenMissing
      const token = bearerToken(sent)
      if (token === null || !tokenForm.test(token)) return keys.authenticate(caller)
      return chain(tokens.check(token), checked => decide(token, checked, caller.peer))
    },
  }
}

const create = 'service-cli token create NAME --scope read'

const tokenMissing = refuse(
  401,
  undefined,
  `a token of the accounts server is required: make one with ${create}, and send it as Authorization: Bearer <token>`,
)

/** The refusal of what is neither a token of the accounts server nor a key. */
export const tokenUnknown = refuse(
  401,
  'invalid_token',
  `this is no token of the accounts server: make one with ${create}`,
)

const scope = 'read'
const insufficient = refuse(403, 'insufficient_scope', `the token lacks the scope ${scope}`, {
  scope,
})

const unavailable = refuse(
  503,
  'temporarily_unavailable',
  'cannot check the token: the accounts server does not answer; try later',
  { retryAfterSeconds: 5 },
)
