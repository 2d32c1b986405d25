import { type Clock, systemClock } from '../util/time.ts'
import { ServiceError } from '../util/errors.ts'
import type { Result } from '../util/result.ts'
import type { Secret } from '../util/secret.ts'
import {
  type CreatedToken,
  type EndedAccess,
  type Me,
  type SessionView,
  type TokenView,
  type Tokens,
  parseCreatedToken,
  parseEndedAccess,
  parseMe,
  parseServiceTokens,
  parseSessions,
  parseTokens,
} from './answers.ts'
import { apiPrefix } from './api-prefix.ts'
import type { RegistryUrl } from '../util/registry-url.ts'
import { describeRefusal } from './refusal.ts'
import type { RegistryRequest, Transport } from './transport.ts'

/** Every call of the registry API. All throw a `ServiceError` that holds no secret. */
export interface AccountsClient {
  readonly registry: RegistryUrl
  /** Also logs in. A registry that answers without a token is asked to log in at once. */
  register(account: NewAccount): Promise<Tokens>
  /** Would `register` take the names and the invitation? Throws its refusal. */
  checkRegistration(account: RegistrationCheck): Promise<void>
  login(credentials: { readonly username: string; readonly password: Secret }): Promise<Tokens>
  /** By the refresh token (rotation), or by the access token as the specification has it. */
  refresh(by: { readonly refreshToken: Secret } | { readonly accessToken: Secret }): Promise<Tokens>
  me(token: Secret): Promise<Me>
  /** The session of the token ends; with `all` every session of the account. */
  logout(token: Secret, options?: { readonly all?: boolean }): Promise<void>
  changePassword(
    token: Secret,
    passwords: { readonly current: Secret; readonly next: Secret },
  ): Promise<void>
  /** With a code that the owner of the registry made. Service tokens end unless `keepTokens`. */
  resetPassword(reset: {
    readonly username: string
    readonly code: Secret
    readonly password: Secret
    readonly keepTokens?: boolean
  }): Promise<EndedAccess>
  listSessions(token: Secret): Promise<SessionView[]>
  endSession(token: Secret, id: string): Promise<void>
  createToken(token: Secret, wanted: NewServiceToken): Promise<CreatedToken>
  listTokens(token: Secret): Promise<TokenView[]>
  revokeToken(token: Secret, id: string): Promise<void>
}

interface NewAccount {
  readonly username: string
  readonly email: string
  readonly password: Secret
  readonly invite?: Secret | undefined
}

export type RegistrationCheck = Omit<NewAccount, 'password'>

interface NewServiceToken {
  readonly name: string
  readonly scopes?: readonly string[] | undefined
  readonly expiresInDays?: number | undefined
}

interface Call {
  readonly method?: RegistryRequest['method']
  readonly path: `/${string}`
  readonly action: string
  readonly bearer?: Secret
  readonly body?: () => object
  /** Secrets in the body. */
  readonly secrets?: readonly Secret[]
}

export function createRegistryClient(parts: {
  readonly transport: Transport
  readonly clock?: Clock
}): AccountsClient {
  const { transport, clock = systemClock } = parts
  const { registry } = transport

  /** The body of a success. */
  async function ask(call: Call): Promise<unknown> {
    const { method = 'POST', path, action, bearer, body, secrets = [] } = call
    const answer = await transport.send({ method, path: `${apiPrefix}${path}`, bearer, body })
    if (answer.status >= 200 && answer.status < 300) return answer.json
    const all = bearer === undefined ? secrets : [...secrets, bearer]
    throw describeRefusal(answer, { registry, action, secrets: all })
  }

  async function askFor<T>(call: Call, parse: (json: unknown) => Result<T, string>): Promise<T> {
    const parsed = parse(await ask(call))
    if (parsed.ok) return parsed.value
    throw new ServiceError(
      'registry_answer_invalid',
      `the answer of ${registry.origin} to the ${call.action} is not that of a registry: ${parsed.failure}`,
      { hint: 'check the address of the registry', data: { registry: registry.url } },
    )
  }

  function askForTokens(call: Call): Promise<Tokens> {
    return askFor(call, json => parseTokens(json, clock.now()))
  }

  const client: AccountsClient = {
    registry,

    async register({ username, email, password, invite }) {
      const answer = await ask({
        path: '/register',
        action: 'registration',
        body: () => ({
          username,
          email,
          password: password.reveal(),
          ...(invite === undefined ? {} : { invite: invite.reveal() }),
        }),
        secrets: invite === undefined ? [password] : [password, invite],
      })
      const tokens = parseTokens(answer, clock.now())
      if (tokens.ok) return tokens.value
      try {
        return await client.login({ username, password })
      } catch (error) {
        throw madeButNotLoggedIn(error, `${username} --registry ${registry.url}`)
      }
    },

    async checkRegistration({ username, email, invite }) {
      await ask({
        path: '/register/check',
        action: 'registration',
        body: () => ({
          username,
          email,
          ...(invite === undefined ? {} : { invite: invite.reveal() }),
        }),
        secrets: invite === undefined ? [] : [invite],
      })
    },

    login({ username, password }) {
      return askForTokens({
        path: '/login',
        action: 'login',
        body: () => ({ username, password: password.reveal() }),
        secrets: [password],
      })
    },

    refresh(by) {
      const call = { path: '/refresh', action: 'refresh of the token' } as const
      if ('accessToken' in by) return askForTokens({ ...call, bearer: by.accessToken })
      const { refreshToken } = by
      const body = () => ({ refresh_token: refreshToken.reveal() })
      return askForTokens({ ...call, body, secrets: [refreshToken] })
    },

    me: bearer =>
      askFor({ method: 'GET', path: '/me', action: 'look-up of the account', bearer }, parseMe),

    async logout(bearer, { all = false } = {}) {
      await ask({ path: '/logout', action: 'logout', bearer, body: () => (all ? { all } : {}) })
    },

    async changePassword(bearer, { current, next }) {
      await ask({
        method: 'PUT',
        path: '/password',
        action: 'change of the password',
        bearer,
        body: () => ({ current_password: current.reveal(), new_password: next.reveal() }),
        secrets: [current, next],
      })
    },

    resetPassword({ username, code, password, keepTokens = false }) {
      const body = () => ({
        username,
        code: code.reveal(),
        new_password: password.reveal(),
        ...(keepTokens ? { keep_tokens: true } : {}),
      })
      const action = 'reset of the password'
      return askFor({ path: '/reset', action, body, secrets: [code, password] }, parseEndedAccess)
    },

    listSessions(bearer) {
      const call = { method: 'GET', path: '/sessions', action: 'list of sessions', bearer } as const
      return askFor(call, parseSessions)
    },

    async endSession(bearer, id) {
      const path = `/sessions/${segment(id, 'session')}` as const
      await ask({ method: 'DELETE', path, action: 'end of the session', bearer })
    },

    createToken(bearer, { name, scopes, expiresInDays }) {
      const body = () => ({
        name,
        ...(scopes === undefined ? {} : { scopes }),
        ...(expiresInDays === undefined ? {} : { expires_in_days: expiresInDays }),
      })
      return askFor({ path: '/tokens', action: 'new token', bearer, body }, parseCreatedToken)
    },

    listTokens(bearer) {
      const call = { method: 'GET', path: '/tokens', action: 'list of tokens', bearer } as const
      return askFor(call, parseServiceTokens)
    },

    async revokeToken(bearer, id) {
      const path = `/tokens/${segment(id, 'token')}` as const
      await ask({ method: 'DELETE', path, action: 'end of the token', bearer })
    },
  }
  return client
}

/** Ids are plain words. Anything else could turn into another path. */
function segment(id: string, what: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9._~-]{0,127}$/.test(id)) return id
  throw new ServiceError('usage_invalid', `invalid ${what} id`, {
    hint: 'take the id from the list',
  })
}

function madeButNotLoggedIn(error: unknown, whoAndWhere: string): unknown {
  if (!(error instanceof ServiceError)) return error
  return new ServiceError(error.code, `the account was made, but not logged in: ${error.message}`, {
    hint: `log in with service-cli login ${whoAndWhere}`,
    data: error.data,
  })
}
