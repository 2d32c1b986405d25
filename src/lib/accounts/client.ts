import got, {
  type Got,
  HTTPError,
  type Method,
  ParseError,
  type RequestError,
  type Response,
} from 'got'
import http from 'node:http'
import https from 'node:https'
import { z } from 'zod'
import { isTokenText, tokenExpiry } from '../auth/validate-bearer-token.ts'
import type { AccountsUrl } from '../config/accounts-url.ts'
import type { SavedLogin } from '../config/config-file.ts'
import { connectionReason, isTlsError } from '../util/connection-reason.ts'
import { type ErrorCode, ServiceError } from '../util/errors.ts'
import { type Proxy, proxyAgentOptions, proxyFor } from '../util/proxy.ts'
import { Secret } from '../util/secret.ts'
import { cleanText } from '../util/text.ts'
import { userAgent } from '../util/version.ts'
import { apiPrefix } from './protocol.ts'
import * as wire from './wire.ts'

// A server that keeps to the specification alone answers a login with `access_token` and nothing
// else, and `me` with `username` and `email`.
const login = wire.loginResponse
  .omit({ token_type: true })
  .extend({ access_token: z.string().refine(isTokenText) })
  .partial()
  .required({ access_token: true })
const me = wire.meResponse.partial().required({ username: true })

/** What a login or a refresh gives. */
export type Login = SavedLogin & { readonly access_token: Secret }

/** The accounts API of one server. All methods throw a `ServiceError` that holds no request. */
export class AccountsClient {
  readonly server: AccountsUrl
  readonly #http: Got

  /**
   * `env` has the proxy variables, `timeoutMs` is of one request. Throws `config_invalid` for a
   * proxy variable that cannot be used.
   */
  constructor(server: AccountsUrl, env: NodeJS.ProcessEnv, timeoutMs = 30_000) {
    const proxy = proxyFor(new URL(server.url), env)
    const connect = Math.min(5000, timeoutMs)
    // A proxy that never answers is given up by the agent alone.
    const agentOptions = { ...proxyAgentOptions(proxy), timeout: connect }
    this.server = server
    this.#http = got.extend({
      prefixUrl: server.url + apiPrefix,
      headers: { accept: 'application/json, application/problem+json', 'user-agent': userAgent },
      agent: { http: new http.Agent(agentOptions), https: new https.Agent(agentOptions) },
      // Tokens are sent to no other address.
      followRedirect: false,
      timeout: { connect, request: timeoutMs },
      retry: {
        methods: ['GET'],
        errorCodes: ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAI_AGAIN'],
        backoffLimit: 300,
      },
      responseType: 'json',
      parseJson: text => JSON.parse(text, cleaned),
      hooks: { beforeError: [error => describeFailure(error, server, proxy)] },
    })
  }

  async register(
    names: { username: string; email: string },
    password: Secret,
    invite?: Secret,
  ): Promise<Login> {
    const json = { ...names, password: password.reveal(), invite: invite?.reveal() }
    return loginOf(await this.#ask(login, 'POST', 'register', { json }))
  }

  async login(username: string, password: Secret): Promise<Login> {
    const json = { username, password: password.reveal() }
    return loginOf(await this.#ask(login, 'POST', 'login', { json }))
  }

  /** By the refresh token, and by the access token as the specification has it. */
  async refresh({ access_token: bearer, refresh_token: token }: Login): Promise<Login> {
    const json = { refresh_token: token?.reveal() }
    return loginOf(await this.#ask(login, 'POST', 'refresh', { bearer, json }))
  }

  me(bearer: Secret) {
    return this.#ask(me, 'GET', 'me', { bearer })
  }

  /** Ends the session of the token; with `all` every session of the account. */
  async logout(bearer: Secret, all = false): Promise<void> {
    await this.#ask(z.unknown(), 'POST', 'logout', { bearer, json: { all } })
  }

  async changePassword(bearer: Secret, current: Secret, next: Secret): Promise<void> {
    const json = { current_password: current.reveal(), new_password: next.reveal() }
    await this.#ask(z.unknown(), 'PUT', 'password', { bearer, json })
  }

  /** With a code of the operator. Every session and service token ends. */
  resetPassword(username: string, code: Secret, next: Secret) {
    const json = { username, code: code.reveal(), new_password: next.reveal() }
    return this.#ask(wire.resetResponse, 'POST', 'reset', { json })
  }

  createToken(bearer: Secret, json: z.infer<typeof wire.tokenRequest>) {
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
    { bearer, json }: { bearer?: Secret; json?: object },
  ): Promise<T> {
    const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer.reveal()}` }
    const response = await this.#http(path, { method, headers, json })
    if (response.statusCode >= 300) throw describeRefusal(response, this.server)
    const parsed = schema.safeParse(response.body)
    if (parsed.success) return parsed.data
    throw answerInvalid(this.server)
  }
}

/** Texts of an answer are shown on terminals. */
function cleaned(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? cleanText(value, 8192) : value
}

function loginOf(answer: z.infer<typeof login>): Login {
  const { expires_in, refresh_token, refresh_expires_in, account } = answer
  const after = (seconds: number | undefined) =>
    seconds === undefined ? undefined : Date.now() + seconds * 1000
  const access_token = new Secret(answer.access_token)
  const names = account && { username: account.username, email: account.email }
  return {
    ...names,
    access_token,
    // The lifetime first: it holds also where the two clocks differ.
    access_expires_at: after(expires_in) ?? tokenExpiry(access_token),
    refresh_token: refresh_token === undefined ? undefined : new Secret(refresh_token),
    refresh_expires_at: after(refresh_expires_in),
  }
}

/** The error of got as ours. Its other members hold the request with its token: none is kept. */
function describeFailure(
  error: RequestError,
  server: AccountsUrl,
  proxy: Proxy | null,
): ServiceError {
  if (error instanceof HTTPError) return describeRefusal(error.response, server)
  if (error instanceof ParseError) return answerInvalid(server)
  const { code } = error
  const through = proxy === null ? '' : ` through ${proxy.variable} (${proxy.url.origin})`
  if (code === 'ETIMEDOUT') {
    const message = `${server.origin} did not answer in time${through}`
    return new ServiceError('net_timeout', message, { hint: 'try again' })
  }
  const hint = isTlsError(code)
    ? 'check the address and its certificate; NODE_EXTRA_CA_CERTS names a private authority'
    : `check the address and ${proxy === null ? 'your network' : 'the proxy, or set NO_PROXY'}`
  const message = `${server.origin} cannot be reached${through}: ${connectionReason(code)}`
  return new ServiceError('network_failed', message, { hint })
}

function answerInvalid({ origin }: AccountsUrl): ServiceError {
  const message = `the answer of ${origin} is not that of an accounts server`
  return new ServiceError('registry_answer_invalid', message, {
    hint: 'check the address of the accounts server',
  })
}

const problem = wire.problem.partial().catch({})

/** An answer that is no success. `data` has the word for the reason, and the refused members. */
function describeRefusal(response: Response, { url, origin }: AccountsUrl): ServiceError {
  const { statusCode: status, headers, body, request } = response
  const { code: reason, errors, detail } = problem.parse(body)
  const data = { reason, errors, detail }
  const refuse = (code: ErrorCode, what: string, hint?: string) =>
    new ServiceError(code, `${origin} ${what}`, { hint, data })
  if (status < 400) {
    const target = URL.parse(headers.location ?? '', url)?.origin ?? 'its new address'
    const what = 'redirects, and tokens are never sent to redirect targets'
    return refuse('registry_answer_invalid', what, `if it moved, use ${target}`)
  }
  const { method, url: asked } = request.options
  const members = errors?.map(each => `${each.pointer.slice(1)} ${each.detail}`).join('; ')
  const words = members ?? detail
  const { pathname } = new URL(String(asked))
  const text = words ? `refused: ${words}` : `answered ${method} ${pathname} with status ${status}`
  if (status === 401) return refuse('auth_refused', text)
  if (status >= 500) return refuse('registry_failed', text, 'try again later')
  if (status === 429) {
    // The header may also hold a date.
    const seconds = Number(headers['retry-after'])
    const wait = seconds > 0 ? `${seconds} s` : 'a while'
    return refuse('rate_limited', text, `wait ${wait}, then try again`)
  }
  const hint = reason === undefined ? 'check the address of the accounts server' : undefined
  return refuse('request_refused', text, hint)
}
