import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { AccountTokens, CheckedToken, TokenRefusal } from '../../auth/account-tokens.ts'
import type { JoinedAs } from '../instance-directory.ts'

/** The user and the token of a link. */
export type JoinPrincipal = Omit<JoinedAs, 'visibility'>

interface JoinRefusal {
  readonly kind: TokenRefusal['kind'] | 'insufficient'
  /** As a clause. */
  readonly reason: string
}

const scope = 'instance'

/** The tokens of links, checked by the accounts server when a link opens and while it is open. */
export class JoinTokens {
  readonly #tokens: Pick<AccountTokens, 'check' | 'watch'>

  constructor(tokens: Pick<AccountTokens, 'check' | 'watch'>) {
    this.#tokens = tokens
  }

  async check(token: string): Promise<Result<JoinPrincipal, JoinRefusal>> {
    return principalOf(await this.#tokens.check(token))
  }

  /** Calls back when the token is refused, or when its user has another name or team. */
  watch(token: string, changed: (now: Result<JoinPrincipal, JoinRefusal>) => void): () => void {
    return this.#tokens.watch(token, now => {
      // Links stay open while the accounts server is away.
      if (now.ok || now.failure.kind !== 'unavailable') changed(principalOf(now))
    })
  }
}

function principalOf(checked: CheckedToken): Result<JoinPrincipal, JoinRefusal> {
  if (!checked.ok) return checked
  const { id: accountId, username: owner, team, scopes, token } = checked.value
  if (token === null) return fail({ kind: 'invalid', reason: 'the token is not a service token' })
  if (!scopes.includes(scope)) {
    return fail({ kind: 'insufficient', reason: `the token does not have the scope "${scope}"` })
  }
  return ok({ accountId, owner, team, name: token.name })
}
