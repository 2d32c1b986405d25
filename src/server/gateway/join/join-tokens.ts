import { hash } from 'node:crypto'
import { createAccountsClient } from '../../../lib/accounts/client.ts'
import { defaultClientLimits } from '../../../lib/accounts/client-limits.ts'
import { createTransport } from '../../../lib/accounts/transport.ts'
import type { AccountsUrl } from '../../../lib/config/accounts-url.ts'
import type { JoinLimits } from '../../../lib/config/join-limits.ts'
import { messageOf, ServiceError } from '../../../lib/util/errors.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import { Secret } from '../../../lib/util/secret.ts'
import { repeat, type Timer } from '../../../lib/util/time.ts'
import { userAgent } from '../../../lib/util/version.ts'
import type { JoinedAs } from '../instance-directory.ts'

/** Whose a link is. */
export type JoinPrincipal = Omit<JoinedAs, 'visibility'>

/** `unavailable`: the accounts server cannot be asked. */
export interface JoinRefusal {
  readonly kind: 'invalid' | 'insufficient' | 'unavailable'
  /** A clause for people. */
  readonly reason: string
}

/** Checks at the same time; an accounts server must not be flooded by guesses. */
const maxChecks = 32
const checkMs = 2000
const form = /^svc_[A-Za-z0-9_-]{40}$/
const scope = 'instance'

interface WatchedToken {
  readonly token: Secret
  readonly links: Set<(reason: string) => void>
}

/** The tokens of links, checked by the accounts server when a link opens and while it is open. */
export class JoinTokens {
  readonly #me: (token: Secret) => Promise<Result<JoinPrincipal, JoinRefusal>>
  readonly #watched = new Map<string, WatchedToken>()
  readonly #stop: () => void
  #checks = 0

  constructor(parts: {
    readonly accounts: AccountsUrl
    readonly limits: Pick<JoinLimits, 'joinTokenCheckMs'>
    readonly timer: Timer
  }) {
    const limits = { ...defaultClientLimits, connectTimeoutMs: checkMs, requestTimeoutMs: checkMs }
    const client = createAccountsClient(
      createTransport({
        ...{ server: parts.accounts, limits: { ...limits, maxRetries: 0 } },
        ...{ env: process.env, userAgent },
      }),
    )
    this.#me = async token => {
      try {
        const { id, username, scopes = [], token: service } = await client.me(token)
        if (service === undefined || id === undefined || !scopes.includes(scope)) {
          return refused('insufficient', `the token does not have the scope "${scope}"`)
        }
        return ok({ accountId: id, owner: username, team: null, name: service.name })
      } catch (error) {
        const isRefused = error instanceof ServiceError && error.code === 'auth_refused'
        return refused(isRefused ? 'invalid' : 'unavailable', messageOf(error))
      }
    }
    this.#stop = repeat(parts.timer, parts.limits.joinTokenCheckMs, () => this.#checkAll())
  }

  async check(token: string): Promise<Result<JoinPrincipal, JoinRefusal>> {
    if (!form.test(token)) return refused('invalid', 'it is no service token')
    if (this.#checks >= maxChecks)
      return refused('unavailable', 'too many tokens are being checked')
    this.#checks++
    return this.#me(new Secret(token)).finally(() => void this.#checks--)
  }

  /** Calls back once the token is refused. Returns the stop. */
  watch(token: string, ended: (reason: string) => void): () => void {
    const digest = hash('sha256', token)
    const watched = this.#watched.get(digest) ?? { token: new Secret(token), links: new Set() }
    this.#watched.set(digest, watched)
    watched.links.add(ended)
    return () => {
      watched.links.delete(ended)
      if (watched.links.size === 0) this.#watched.delete(digest)
    }
  }

  close(): void {
    this.#stop()
  }

  /** While the accounts server is away, links stay. */
  async #checkAll(): Promise<void> {
    const waiting = this.#watched.values()
    const work = async () => {
      for (const { token, links } of waiting) {
        const checked = await this.#me(token)
        if (checked.ok || checked.failure.kind === 'unavailable') continue
        for (const ended of [...links]) ended(checked.failure.reason)
      }
    }
    await Promise.all(Array.from({ length: maxChecks }, work))
  }
}

function refused(kind: JoinRefusal['kind'], reason: string): Result<never, JoinRefusal> {
  return fail({ kind, reason })
}
