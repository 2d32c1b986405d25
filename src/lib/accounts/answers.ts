import { cleanText } from '../util/text.ts'
import { parseRfc3339 } from '../util/time.ts'
import { type JsonObject, isJsonObject } from '../util/json.ts'
import { type Result, fail, ok } from '../util/result.ts'
import { Secret } from '../util/secret.ts'
import { readJwtExpiry } from './refresh-need.ts'

/**
 * Answers as a client reads them (`wire.ts` has what ours sends): what it cannot do without must
 * be there, everything else may be missing or of another shape, so that any server that keeps to
 * the specification will do. Texts are cleaned of what could act on a terminal. By hand, not by
 * the schemas: loading those takes half as long as a whole command.
 */

/** Tokens of a login. Times are milliseconds; undefined where the accounts server does not say. */
export interface Tokens {
  readonly accessToken: Secret
  readonly accessExpiresAtMs: number | undefined
  readonly refreshToken: Secret | undefined
  readonly refreshExpiresAtMs: number | undefined
}

/** Login, refresh; also registration, where having no token is an answer like any other. */
export function parseTokens(json: unknown, nowMs: number): Result<Tokens, string> {
  const answer = isJsonObject(json) ? json : {}
  const access = readToken(answer['access_token'])
  if (access === undefined) return fail('no usable access_token')
  const refresh = readToken(answer['refresh_token'])
  const after = (lifetime: number | undefined) =>
    lifetime === undefined ? undefined : nowMs + Math.floor(lifetime * 1000)
  return ok({
    accessToken: new Secret(access),
    // The lifetime first: it holds also where the two clocks differ.
    accessExpiresAtMs:
      after(readSeconds(answer['expires_in'])) ?? readJwtExpiry(access) ?? undefined,
    refreshToken: refresh === undefined ? undefined : new Secret(refresh),
    refreshExpiresAtMs:
      refresh === undefined ? undefined : after(readSeconds(answer['refresh_expires_in'])),
  })
}

/**
 * The user of a token. The specification promises `username` and `email` alone. Times: RFC 3339.
 */
export interface Me {
  /** Stays with the account; undefined where the accounts server does not say. */
  readonly id: string | undefined
  readonly username: string
  readonly email: string | undefined
  /** Null: in none, also where the accounts server does not say. */
  readonly team: string | null
  readonly scopes: readonly string[] | undefined
  /** Of the session; undefined for a service token. */
  readonly sessionExpiresAt: string | undefined
  /** Of a service token. */
  readonly token: { readonly name: string; readonly expires_at: string | undefined } | undefined
}

export function parseMe(json: unknown): Result<Me, string> {
  const answer = isJsonObject(json) ? json : {}
  const username = readText(answer['username'])
  if (username === undefined) return fail('no usable username')
  const { session, token } = answer
  return ok({
    id: readText(answer['id']),
    username,
    email: readText(answer['email']),
    team: readText(answer['team']) ?? null,
    scopes: readTexts(answer['scopes']),
    sessionExpiresAt: isJsonObject(session) ? readTime(session['expires_at']) : undefined,
    token: isJsonObject(token)
      ? { name: readText(token['name']) ?? '', expires_at: readTime(token['expires_at']) }
      : undefined,
  })
}

export interface TokenView {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[] | undefined
  readonly created_at: string | undefined
  readonly expires_at: string | undefined
  readonly last_used_at: string | undefined
}

export function parseServiceTokens(json: unknown): Result<TokenView[], string> {
  return parseList(json, 'tokens', readTokenView)
}

/** What ended with a password. */
export interface EndedAccess {
  /** Undefined where the accounts server does not say. */
  readonly sessions: number | undefined
  readonly tokens: readonly TokenView[]
}

/** Also no body at all: the password is set, whatever the accounts server says of it. */
export function parseEndedAccess(json: unknown): Result<EndedAccess, string> {
  const answer = isJsonObject(json) ? json : {}
  const sessions = answer['ended_sessions']
  const tokens = parseList({ tokens: answer['ended_tokens'] }, 'tokens', readTokenView)
  return ok({
    sessions: Number.isSafeInteger(sessions) ? (sessions as number) : undefined,
    tokens: tokens.ok ? tokens.value : [],
  })
}

export interface CreatedToken extends TokenView {
  /** Never to be had again. */
  readonly token: Secret
}

export function parseCreatedToken(json: unknown): Result<CreatedToken, string> {
  const answer = isJsonObject(json) ? json : {}
  const token = readToken(answer['token'])
  const view = readTokenView(answer)
  if (token === undefined) return fail('no usable token')
  if (view === undefined) return fail('no usable id')
  return ok({ ...view, token: new Secret(token) })
}

function readTokenView(row: JsonObject): TokenView | undefined {
  const id = readText(row['id'])
  if (id === undefined) return undefined
  return {
    id,
    name: readText(row['name']) ?? '',
    scopes: readTexts(row['scopes']),
    created_at: readTime(row['created_at']),
    expires_at: readTime(row['expires_at']),
    last_used_at: readTime(row['last_used_at']),
  }
}

export interface ProblemFacts {
  /** In words, or undefined when the body says nothing. */
  readonly detail: string | undefined
  readonly code: string | undefined
  readonly requestId: string | undefined
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[]
  readonly retryAfterMs: number | undefined
}

const wordMembers = ['detail', 'error_description', 'message', 'title', 'error']
const maxErrors = 50

/** What the body of a refusal says: RFC 9457, or the member names that others use. */
export function readProblem(json: unknown): ProblemFacts {
  const body = isJsonObject(json) ? json : {}
  const code = body['code']
  const errors = Array.isArray(body['errors']) ? body['errors'].slice(0, maxErrors) : []
  const retryAfter = readSeconds(body['retry_after'])
  return {
    detail: wordMembers.map(name => readText(body[name])).find(words => words !== undefined),
    code: typeof code === 'string' && /^[a-z0-9_-]{1,64}$/.test(code) ? code : undefined,
    requestId: readText(body['instance']),
    errors: errors
      .filter(isJsonObject)
      .map(error => ({
        pointer: readText(error['pointer']) ?? '',
        detail: readText(error['detail']) ?? '',
      })),
    retryAfterMs: retryAfter === undefined ? undefined : retryAfter * 1000,
  }
}

const maxTokenChars = 8192
const maxLifetimeSeconds = 100 * 365 * 86_400

function parseList<T>(
  json: unknown,
  name: string,
  read: (row: JsonObject) => T | undefined,
): Result<T[], string> {
  const rows = isJsonObject(json) ? json[name] : undefined
  if (!Array.isArray(rows)) return fail(`no list of ${name}`)
  const views = rows.filter(isJsonObject).map(read)
  return ok(views.filter(view => view !== undefined))
}

/** What can stand in a header behind `Bearer`. */
function readToken(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > maxTokenChars) return undefined
  return /^[\x21-\x7e]+$/.test(value) ? value : undefined
}

function readText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = cleanText(value)
  return text === '' ? undefined : text
}

function readTexts(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.map(readText).filter(text => text !== undefined)
}

function readTime(value: unknown): string | undefined {
  return typeof value === 'string' && parseRfc3339(value) !== null ? value : undefined
}

function readSeconds(value: unknown): number | undefined {
  if (typeof value !== 'number') return undefined
  return value > 0 && value <= maxLifetimeSeconds ? value : undefined
}
