import { type Clock, systemClock } from '../util/time.ts'
import { ServiceError } from '../util/errors.ts'
import type { Result } from '../util/result.ts'
import type { Secret } from '../util/secret.ts'
import {
  type Tokens,
  parseCreatedToken,
  parseEndedAccess,
  parseMe,
  parseServiceTokens,
  parseTokens,
} from './answers.ts'
import { apiPrefix } from './protocol.ts'
import { describeRefusal } from './refusal.ts'
import type { AccountsRequest, Transport } from './transport.ts'

export type AccountsClient = ReturnType<typeof createAccountsClient>

interface Credentials {
  readonly username: string
  readonly password: Secret
}

export interface NewAccount extends Credentials {
  readonly email: string
  readonly invite?: Secret
}

interface NewServiceToken {
  readonly name: string
  readonly scopes?: readonly string[]
  readonly expiresInDays?: number
}

interface Call {
  readonly method?: AccountsRequest['method']
  readonly path: `/${string}`
  readonly action: string
  readonly bearer?: Secret
  readonly body?: () => object
  /** Secrets in the body. */
  readonly secrets?: readonly Secret[]
}

/** Every call of the accounts API. All throw a `ServiceError` that holds no secret. */
export function createAccountsClient(transport: Transport, clock: Clock = systemClock) {
  const { server } = transport

  /** The body of a success. */
  async function ask(call: Call): Promise<unknown> {
    const { method = 'POST', path, action, bearer, body, secrets = [] } = call
    const answer = await transport.send({ method, path: `${apiPrefix}${path}`, bearer, body })
    if (answer.status >= 200 && answer.status < 300) return answer.json
    const all = bearer === undefined ? secrets : [...secrets, bearer]
    throw describeRefusal(answer, { server, action, secrets: all })
  }

  async function askFor<T>(call: Call, parse: (json: unknown) => Result<T, string>): Promise<T> {
    const parsed = parse(await ask(call))
    if (parsed.ok) return parsed.value
    throw new ServiceError(
      'registry_answer_invalid',
      `the answer of ${server.origin} to the ${call.action} is not that of an accounts server: ${parsed.failure}`,
      { hint: 'check the address of the accounts server', data: { registry: server.url } },
    )
  }

  function askForTokens(call: Call): Promise<Tokens> {
    return askFor(call, json => parseTokens(json, clock.now()))
  }

  function login({ username, password }: Credentials): Promise<Tokens> {
    return askForTokens({
      path: '/login',
      action: 'login',
      body: () => ({ username, password: password.reveal() }),
      secrets: [password],
    })
  }

  return {
    server,
    login,

    /** Also logs in. A server that answers without a token is asked to log in at once. */
    async register({ username, email, password, invite }: NewAccount): Promise<Tokens> {
      const answer = await ask({
        path: '/register',
        action: 'registration',
        body: () => ({ username, email, password: password.reveal(), invite: invite?.reveal() }),
        secrets: invite === undefined ? [password] : [password, invite],
      })
      const tokens = parseTokens(answer, clock.now())
      if (tokens.ok) return tokens.value
      try {
        return await login({ username, password })
      } catch (error) {
        throw madeButNotLoggedIn(error, `${username} --registry ${server.url}`)
      }
    },

    /** By the refresh token (rotation), or by the access token as the specification has it. */
    refresh(by: { refreshToken: Secret } | { accessToken: Secret }): Promise<Tokens> {
      const call = { path: '/refresh', action: 'refresh of the token' } as const
      if ('accessToken' in by) return askForTokens({ ...call, bearer: by.accessToken })
      const { refreshToken } = by
      const body = () => ({ refresh_token: refreshToken.reveal() })
      return askForTokens({ ...call, body, secrets: [refreshToken] })
    },

    me: (bearer: Secret) =>
      askFor({ method: 'GET', path: '/me', action: 'look-up of the account', bearer }, parseMe),

    /** Ends the session of the token; with `all` every session of the account. */
    async logout(bearer: Secret, { all = false } = {}): Promise<void> {
      await ask({ path: '/logout', action: 'logout', bearer, body: () => (all ? { all } : {}) })
    },

    async changePassword(
      bearer: Secret,
      { current, next }: { current: Secret; next: Secret },
    ): Promise<void> {
      await ask({
        method: 'PUT',
        path: '/password',
        action: 'change of the password',
        bearer,
        body: () => ({ current_password: current.reveal(), new_password: next.reveal() }),
        secrets: [current, next],
      })
    },

    /** With a code that the operator made. Every session and service token ends. */
    resetPassword({ username, code, password }: Credentials & { code: Secret }) {
      const body = () => ({ username, code: code.reveal(), new_password: password.reveal() })
      const action = 'reset of the password'
      return askFor({ path: '/reset', action, body, secrets: [code, password] }, parseEndedAccess)
    },

    createToken(bearer: Secret, { name, scopes, expiresInDays }: NewServiceToken) {
      const body = () => ({ name, scopes, expires_in_days: expiresInDays })
      return askFor({ path: '/tokens', action: 'new token', bearer, body }, parseCreatedToken)
    },

    listTokens(bearer: Secret) {
      const call = { method: 'GET', path: '/tokens', action: 'list of tokens', bearer } as const
      return askFor(call, parseServiceTokens)
    },

    async revokeToken(bearer: Secret, id: string): Promise<void> {
      const path = `/tokens/${segment(id)}` as const
      await ask({ method: 'DELETE', path, action: 'end of the token', bearer })
    },
  }
}

/** Ids are plain words. Anything else could turn into another path. */
function segment(id: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9._~-]{0,127}$/.test(id)) return id
  throw new ServiceError('usage_invalid', 'invalid token id', { hint: 'take the id from the list' })
}

function madeButNotLoggedIn(error: unknown, whoAndWhere: string): unknown {
  if (!(error instanceof ServiceError)) return error
  return new ServiceError(error.code, `the account was made, but not logged in: ${error.message}`, {
    hint: `log in with service-cli login ${whoAndWhere}`,
    data: error.data,
  })
}
