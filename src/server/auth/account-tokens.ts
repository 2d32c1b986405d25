import { isDeepStrictEqual } from 'node:util'
import pLimit from 'p-limit'
import type { z } from 'zod'
import type { AccountsClient } from '../../lib/accounts/client.ts'
import { meResponse } from '../../lib/accounts/wire.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import { hashOfSecret, Secret } from '../../lib/util/secret.ts'
import { type Clock, monotonicClock, repeat, systemTimer, type Timer } from '../../lib/util/time.ts'
import {
  type AuthOutcome,
  type AuthPolicy,
  cannotCheck,
  invalidToken,
  refuse,
} from '../http/authentication.ts'
import type { FailureLimit } from './failure-limit.ts'

/** What the accounts server says of a token; its `token` is null for that of a login. */
const tokenAccount = meResponse.omit({ email: true, created_at: true, session: true })
type TokenAccount = z.infer<typeof tokenAccount>

/** `unavailable`: the accounts server cannot be asked. `reason` is a clause for people. */
export type CheckedToken = Result<
  TokenAccount,
  { readonly kind: 'invalid' | 'unavailable'; readonly reason: string }
>

interface KnownToken {
  /** Null: before the first answer. */
  account: TokenAccount | null
  /** When the accounts server last accepted it. */
  acceptedMs: number
  /** When the accounts server was last asked, whatever it said. */
  askedMs: number
  pendingCheck: Promise<CheckedToken> | null
}

/** Tokens that are remembered; the one used longest ago goes. */
const maxKnown = 10_000
/** While the accounts server is away, a token is accepted for so long after its last check. */
const awayMs = 60_000

/** A service token, or the signed token of a login. */
const tokenForm = /^(?:svc_[\w-]{40}|[\w-]+\.[\w-]+\.[\w-]+)$/

/**
 * Tokens of an accounts server, which is asked for each of them at most once in `checkMs`, and as
 * often while something is open with it.
 */
export class AccountTokens {
  readonly #client: AccountsClient
  readonly #checkMs: number
  readonly #ticks: Clock
  readonly #timer: Timer
  /** Requests to the accounts server at the same time. */
  readonly #limit = pLimit(32)
  /** By the hash of the token; least recently used first. */
  readonly #known = new Map<string, KnownToken>()

  constructor(
    client: AccountsClient,
    checkMs: number,
    ticks: Clock = monotonicClock,
    timer: Timer = systemTimer,
  ) {
    this.#client = client
    this.#checkMs = checkMs
    this.#ticks = ticks
    this.#timer = timer
  }

  async check(token: string): Promise<CheckedToken> {
    if (!tokenForm.test(token)) {
      return fail({ kind: 'invalid', reason: 'it is no token of the accounts server' })
    }
    const known = this.#recall(token)
    const isRecent = this.#ticks.now() - known.askedMs < this.#checkMs
    const cached = isRecent ? this.#cachedResult(known) : null
    if (cached !== null) return cached
    // One request for all who ask meanwhile.
    known.pendingCheck ??= this.#ask(token, known).finally(() => (known.pendingCheck = null))
    return known.pendingCheck
  }

  /** Calls back when the token is refused, or its account has changed. Returns the stop. */
  watch(token: string, listener: (now: CheckedToken) => void): () => void {
    const { account } = this.#recall(token)
    let last: CheckedToken | null = account && ok(account)
    return repeat(this.#timer, this.#checkMs, async () => {
      const now = await this.check(token)
      if (isDeepStrictEqual(now, last)) return
      last = now
      listener(now)
    })
  }

  #recall(token: string): KnownToken {
    const digest = hashOfSecret(token)
    const fresh = { account: null, acceptedMs: -Infinity, askedMs: -Infinity, pendingCheck: null }
    const known = this.#known.get(digest) ?? fresh
    this.#known.delete(digest)
    this.#known.set(digest, known)
    const [oldest] = this.#known.keys()
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest)
    return known
  }

  async #ask(token: string, known: KnownToken): Promise<CheckedToken> {
    const checked = await this.#limit(() => this.#askServer(new Secret(token)))
    known.askedMs = this.#ticks.now()
    if (checked.ok) {
      known.account = checked.value
      known.acceptedMs = known.askedMs
      return checked
    }
    if (checked.failure.kind === 'unavailable') return this.#cachedResult(known) ?? checked
    this.#known.delete(hashOfSecret(token))
    return checked
  }

  async #askServer(token: Secret): Promise<CheckedToken> {
    try {
      return ok(tokenAccount.parse(await this.#client.me(token)))
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'auth_refused') {
        return fail({ kind: 'unavailable', reason: messageOf(error) })
      }
      const detail = error.data?.detail
      const reason = typeof detail === 'string' ? detail : 'it is no token of the accounts server'
      return fail({ kind: 'invalid', reason })
    }
  }

  #cachedResult({ account, acceptedMs }: KnownToken): CheckedToken | null {
    return account !== null && this.#ticks.now() - acceptedMs < awayMs ? ok(account) : null
  }
}

/** Accepts the tokens of an accounts server, whose users see what is theirs, beside all `keys`. */
export function withAccountTokens(
  keys: AuthPolicy,
  tokens: AccountTokens,
  failures: FailureLimit,
): AuthPolicy {
  async function decide(token: string, peer: string): Promise<AuthOutcome> {
    const checked = await tokens.check(token)
    if (!checked.ok) {
      const { kind, reason } = checked.failure
      if (kind === 'unavailable') return cannotCheck('the accounts server')
      return failures.refused(peer, invalidToken(reason))
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
      return decide(token, caller.peer)
    },
  }
}

const tokenMissing = refuse(
  401,
  undefined,
  'a token of the accounts server is required: make one with service-cli token create NAME --scope read, and send it as Authorization: Bearer <token>',
)

const insufficient = refuse(403, 'insufficient_scope', 'the token lacks the scope read', {
  scope: 'read',
})
