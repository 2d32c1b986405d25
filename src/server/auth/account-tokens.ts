import { hash } from 'node:crypto'
import { AccountsClient } from '../../lib/accounts/client.ts'
import { serviceTokenPrefix } from '../../lib/accounts/protocol.ts'
import type { AccountsUrl } from '../../lib/config/accounts-url.ts'
import type { AuthLimits } from './limits.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import { Secret } from '../../lib/util/secret.ts'
import { type Clock, repeat, type Timer } from '../../lib/util/time.ts'

/** What the accounts server says of a token. */
interface TokenAccount {
  /** Stays when the user is renamed. */
  readonly accountId: string
  readonly username: string
  readonly team: string | null
  readonly scopes: readonly string[]
  /** Of a service token; null: the token of a login. */
  readonly tokenName: string | null
}

/** `unavailable`: the accounts server cannot be asked. */
export interface TokenRefusal {
  readonly kind: 'invalid' | 'unavailable'
  /** A clause for people. */
  readonly reason: string
}

export type CheckedToken = Result<TokenAccount, TokenRefusal>

/** Checks of unknown tokens at the same time: an accounts server must not be flooded by guesses. */
const maxChecks = 32
/** Checks of one address: one that guesses does not keep users of other addresses out. */
const maxChecksOfAddress = 16
const checkMs = 2000
/** Tokens that are remembered; of those without anything open, the one used longest ago goes. */
const maxKnown = 10_000
/** While the accounts server is away, a token is believed for so long after its last check. */
const awayMs = 60_000

const serviceForm = /^svc_[A-Za-z0-9_-]{40}$/
const accessForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
const maxTokenChars = 4096

interface Known {
  readonly token: Secret
  /** Null: before the first answer. */
  account: TokenAccount | null
  checkedMs: number
  /** The accounts server was asked, whatever it said. */
  triedMs: number
  readonly told: Set<(now: CheckedToken) => void>
}

interface AccountTokensParts {
  readonly server: AccountsUrl
  readonly limits: Pick<AuthLimits, 'joinTokenCheckMs'>
  /** For durations. */
  readonly ticks: Clock
  readonly timer: Timer
}

/** Whether it may be a token of an accounts server. */
export function isAccountToken(token: string): boolean {
  if (token.startsWith(serviceTokenPrefix)) return serviceForm.test(token)
  return token.length <= maxTokenChars && accessForm.test(token)
}

/**
 * Tokens of an accounts server, which is asked for each of them at most once in
 * `joinTokenCheckMs`, and as often while something is open with it. Tokens are found by their digest.
 */
export class AccountTokens {
  readonly #parts: AccountTokensParts
  readonly #me: (token: Secret) => Promise<CheckedToken>
  /** Least recently used first. */
  readonly #known = new Map<string, Known>()
  readonly #checking = new Map<string, Promise<CheckedToken>>()
  /** The address of each check of an unknown token. */
  readonly #strangers = new Map<string, string>()
  readonly #stop: () => void

  constructor(parts: AccountTokensParts) {
    this.#parts = parts
    this.#me = createLookUp(parts.server)
    this.#stop = repeat(parts.timer, parts.limits.joinTokenCheckMs, () => this.#checkWatched())
  }

  /** `peer`: the address of the caller. */
  check(token: string, peer: string): CheckedToken | Promise<CheckedToken> {
    if (!isAccountToken(token)) return fail({ kind: 'invalid', reason: 'it is no token' })
    const digest = hash('sha256', token)
    const known = this.#known.get(digest)
    if (known === undefined) {
      return this.#checking.get(digest) ?? this.#askOfStranger(digest, token, peer)
    }
    this.#known.delete(digest)
    this.#known.set(digest, known)
    const isFresh = this.#parts.ticks.now() - known.triedMs < this.#parts.limits.joinTokenCheckMs
    return (isFresh ? this.#believed(known) : null) ?? this.#ask(digest, known.token)
  }

  /** Calls back when the token is refused, or is of other rights. Returns the stop. */
  watch(token: string, told: (now: CheckedToken) => void): () => void {
    const digest = hash('sha256', token)
    const known = this.#known.get(digest) ?? this.#remember(digest, new Secret(token))
    // Another function for each: one may be given twice.
    const own = (now: CheckedToken) => told(now)
    known.told.add(own)
    return () => void known.told.delete(own)
  }

  close(): void {
    this.#stop()
  }

  #askOfStranger(
    digest: string,
    token: string,
    peer: string,
  ): CheckedToken | Promise<CheckedToken> {
    const peers = [...this.#strangers.values()]
    const ofPeer = peers.filter(one => one === peer).length
    if (peers.length >= maxChecks || ofPeer >= maxChecksOfAddress) {
      return unavailable('too many tokens are being checked')
    }
    this.#strangers.set(digest, peer)
    return this.#ask(digest, new Secret(token)).finally(() => this.#strangers.delete(digest))
  }

  /** One request for all who ask meanwhile. */
  #ask(digest: string, token: Secret): Promise<CheckedToken> {
    const asked =
      this.#checking.get(digest) ??
      this.#me(token)
        .then(checked => this.#note(digest, token, checked))
        .finally(() => this.#checking.delete(digest))
    this.#checking.set(digest, asked)
    return asked
  }

  #note(digest: string, token: Secret, checked: CheckedToken): CheckedToken {
    const now = this.#parts.ticks.now()
    let known = this.#known.get(digest)
    if (checked.ok) {
      known ??= this.#remember(digest, token)
      const isSame = JSON.stringify(known.account) === JSON.stringify(checked.value)
      Object.assign(known, { account: checked.value, checkedMs: now, triedMs: now })
      if (!isSame) {
        this.#doubt(checked.value)
        tell(known, checked)
      }
      return checked
    }
    if (known === undefined) return checked
    known.triedMs = now
    if (checked.failure.kind === 'unavailable') {
      const believed = this.#believed(known)
      if (believed !== null) return believed
    } else this.#known.delete(digest)
    tell(known, checked)
    return checked
  }

  /** Other tokens of an account that has changed are checked when they are next used. */
  #doubt({ accountId, username, team }: TokenAccount): void {
    for (const known of this.#known.values()) {
      const { account } = known
      if (account === null || account.accountId !== accountId) continue
      if (account.team !== team || account.username !== username) known.triedMs = -Infinity
    }
  }

  /** While the accounts server is away. */
  #believed({ account, checkedMs }: Known): CheckedToken | null {
    const isRecent = this.#parts.ticks.now() - checkedMs < awayMs
    return account !== null && isRecent ? ok(account) : null
  }

  #remember(digest: string, token: Secret): Known {
    if (this.#known.size >= maxKnown) {
      for (const [oldest, { told }] of this.#known) {
        if (told.size > 0) continue
        this.#known.delete(oldest)
        break
      }
    }
    const times = { checkedMs: -Infinity, triedMs: -Infinity }
    const known: Known = { token, account: null, ...times, told: new Set() }
    this.#known.set(digest, known)
    return known
  }

  async #checkWatched(): Promise<void> {
    const waiting = [...this.#known].filter(([, { told }]) => told.size > 0).values()
    const work = async () => {
      for (const [digest, { token }] of waiting) await this.#ask(digest, token)
    }
    await Promise.all(Array.from({ length: maxChecks }, work))
  }
}

function tell({ told }: Known, now: CheckedToken): void {
  for (const each of [...told]) each(now)
}

function unavailable(reason: string): CheckedToken {
  return fail({ kind: 'unavailable', reason })
}

function createLookUp(server: AccountsUrl): (token: Secret) => Promise<CheckedToken> {
  const options = { env: process.env, timeoutMs: checkMs, retries: 0 }
  const client = new AccountsClient(server, options)
  return async token => {
    try {
      const { id, username, team = null, scopes = [], token: service } = await client.me(token)
      if (id === undefined) return unavailable('the accounts server tells no account id')
      const tokenName = service?.name ?? null
      return ok({ accountId: id, username, team, scopes, tokenName })
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'auth_refused') {
        return unavailable(messageOf(error))
      }
      const said = error.data?.detail
      const reason = typeof said === 'string' ? said : 'the accounts server refuses the token'
      return fail({ kind: 'invalid', reason })
    }
  }
}
