import got, { type Got, type Method } from 'got'
import http from 'node:http'
import https from 'node:https'
import { z } from 'zod'
import type { AccountsUrl } from '../config/accounts-url.ts'
import type { SavedLogin } from '../config/config-file.ts'
import { proxyAgentOptions, proxyFor } from '../util/proxy.ts'
import { Secret } from '../util/secret.ts'
import { cleanText } from '../util/text.ts'
import { userAgent } from '../util/version.ts'
import { answerInvalid, describeFailure, describeRefusal } from './failures.ts'
import { apiPrefix } from './protocol.ts'
import { tokenExpiry } from './token.ts'
import * as wire from './wire.ts'

const connectTimeoutMs = 5000
const requestTimeoutMs = 30_000
const maxTokenChars = 8192

/** What can stand in a header behind `Bearer`. */
const tokenText = z
  .string()
  .max(maxTokenChars)
  .regex(/^[\x21-\x7e]+$/)

const user = wire.account.pick({ username: true, email: true })

/** A server that keeps to the specification alone answers with `access_token` and nothing else. */
const login = wire.loginResponse
  .omit({ token_type: true, scope: true })
  .extend({ access_token: tokenText, refresh_token: tokenText, account: user.partial() })
  .partial()
  .required({ access_token: true })
  .transform(loginOf)

/** Such a server may answer with `username` and `email` alone. */
const me = wire.meResponse.partial().required({ username: true })
export type Me = z.infer<typeof me>

/** What a login or a refresh gives. */
export interface Login extends SavedLogin {
  readonly accessToken: Secret
}

interface NewAccount {
  readonly username: string
  readonly email: string
  readonly password: Secret
  readonly invite?: Secret
}

interface AccountsClientOptions {
  /** Has the proxy variables. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Certificates (PEM) of the authorities to trust. Default: those of Node. */
  readonly certificates?: string[]
  /** Of one request. Default: 30 s. */
  readonly timeoutMs?: number
}

/** The accounts API of one server. All methods throw a `ServiceError` that holds no secret. */
export class AccountsClient {
  readonly server: AccountsUrl
  readonly #http: Got

  /** Throws `config_invalid` for a proxy variable that cannot be used. */
  constructor(server: AccountsUrl, options: AccountsClientOptions) {
    const { env, certificates, timeoutMs = requestTimeoutMs } = options
    const address = new URL(server.url)
    const proxy = proxyFor(address, env)
    const agentOptions = {
      ...proxyAgentOptions(proxy),
      timeout: Math.min(connectTimeoutMs, timeoutMs),
    }
    this.server = server
    this.#http = got.extend({
      prefixUrl: server.url + apiPrefix,
      headers: { accept: 'application/json, application/problem+json', 'user-agent': userAgent },
      agent: { http: new http.Agent(agentOptions), https: new https.Agent(agentOptions) },
      https: { certificateAuthority: certificates },
      // Tokens are sent to no other address.
      followRedirect: false,
      timeout: { connect: connectTimeoutMs, secureConnect: connectTimeoutMs, request: timeoutMs },
      retry: {
        limit: 2,
        methods: ['GET'],
        statusCodes: [429, 502, 503, 504],
        errorCodes: ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAI_AGAIN'],
        backoffLimit: 300,
        maxRetryAfter: timeoutMs,
      },
      responseType: 'json',
      parseJson: text => JSON.parse(text, cleaned),
      stringifyJson: body => JSON.stringify(body, revealed),
      hooks: { beforeError: [error => describeFailure(error, server, proxy)] },
    })
  }

  /** Null from a server that makes the account and answers without a token. */
  async register(account: NewAccount): Promise<Login | null> {
    const answer = await this.#ask(z.unknown(), 'POST', 'register', { json: account })
    return login.safeParse(answer).data ?? null
  }

  login(username: string, password: Secret): Promise<Login> {
    return this.#ask(login, 'POST', 'login', { json: { username, password } })
  }

  /** By the refresh token, and by the access token as the specification has it. */
  refresh({ accessToken, refreshToken }: Login): Promise<Login> {
    const json = refreshToken === undefined ? {} : { refresh_token: refreshToken }
    return this.#ask(login, 'POST', 'refresh', { bearer: accessToken, json })
  }

  me(bearer: Secret): Promise<Me> {
    return this.#ask(me, 'GET', 'me', { bearer })
  }

  /** Ends the session of the token; with `all` every session of the account. */
  async logout(bearer: Secret, all = false): Promise<void> {
    await this.#ask(z.unknown(), 'POST', 'logout', { bearer, json: all ? { all } : {} })
  }

  async changePassword(bearer: Secret, current: Secret, next: Secret): Promise<void> {
    const json = { current_password: current, new_password: next }
    await this.#ask(z.unknown(), 'PUT', 'password', { bearer, json })
  }

  /** With a code of the operator. Every session and service token ends. */
  resetPassword(username: string, code: Secret, next: Secret): Promise<wire.ResetResponse> {
    const json = { username, code, new_password: next }
    return this.#ask(wire.resetResponse, 'POST', 'reset', { json })
  }

  createToken(bearer: Secret, json: wire.TokenRequest): Promise<wire.TokenCreatedResponse> {
    return this.#ask(wire.tokenCreatedResponse, 'POST', 'tokens', { bearer, json })
  }

  async listTokens(bearer: Secret): Promise<wire.ServiceTokenView[]> {
    return (await this.#ask(wire.tokensResponse, 'GET', 'tokens', { bearer })).tokens
  }

  async revokeToken(bearer: Secret, id: string): Promise<void> {
    await this.#ask(z.unknown(), 'DELETE', `tokens/${encodeURIComponent(id)}`, { bearer })
  }

  async #ask<T>(
    schema: z.ZodType<T>,
    method: Method,
    path: string,
    { bearer, json = {} }: { bearer?: Secret; json?: object },
  ): Promise<T> {
    const secrets = [bearer, ...Object.values(json)].filter(value => value instanceof Secret)
    const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer.reveal()}` }
    const body = method === 'POST' || method === 'PUT' ? { json } : {}
    const response = await this.#http(path, { method, headers, context: { secrets }, ...body })
    if (response.statusCode >= 300) throw describeRefusal(response, this.server, secrets)
    const parsed = schema.safeParse(response.body)
    if (parsed.success) return parsed.data
    throw answerInvalid(this.server)
  }
}

/** Texts of an answer are shown on terminals. */
function cleaned(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? cleanText(value, maxTokenChars) : value
}

/** Secrets are opened only when they are sent. `value` is what their `toJSON` returns. */
function revealed(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const original = this[name]
  return original instanceof Secret ? original.reveal() : value
}

interface LoginAnswer {
  access_token: string
  expires_in?: number
  refresh_token?: string
  refresh_expires_in?: number
  account?: { username?: string; email?: string }
}

function loginOf(answer: LoginAnswer): Login {
  const { access_token, expires_in, refresh_token, refresh_expires_in, account } = answer
  const after = (seconds: number | undefined) =>
    seconds === undefined ? undefined : Date.now() + seconds * 1000
  const accessToken = new Secret(access_token)
  return {
    ...account,
    accessToken,
    // The lifetime first: it holds also where the two clocks differ.
    accessExpiresAtMs: after(expires_in) ?? tokenExpiry(accessToken),
    refreshToken: refresh_token === undefined ? undefined : new Secret(refresh_token),
    refreshExpiresAtMs: after(refresh_expires_in),
  }
}
