import { z } from 'zod'
import { cleanText } from '../clean-text.ts'
import { type Result, fail, ok } from '../result.ts'
import { Secret } from '../secret.ts'
import { readJwtExpiry } from './jwt-expiry.ts'
import * as wire from './wire.ts'

/**
 * Answers as a client reads them: what it cannot do without must be there, everything else may be
 * missing or of another shape, so that any server that keeps to the specification will do. Texts
 * are cleaned of what could act on a terminal.
 */

/** Absent, or of a shape that is not ours: the same. */
const maybe = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined)
const text = z.string().transform(value => cleanText(value))
const name = text.refine(value => value !== '')
const maxTokenChars = 8192
/** What can stand in a header behind `Bearer`. */
const token = z
  .string()
  .max(maxTokenChars)
  .regex(/^[\x21-\x7e]+$/)
const seconds = z
  .number()
  .positive()
  .max(100 * 365 * 86_400)

const tokens = z.object({
  access_token: token,
  expires_in: maybe(seconds),
  refresh_token: maybe(token),
  refresh_expires_in: maybe(seconds),
  scope: maybe(text),
})

/** Tokens of a login. Times are milliseconds; undefined where the registry does not say. */
export interface Tokens {
  readonly accessToken: Secret
  readonly accessExpiresAtMs: number | undefined
  readonly refreshToken: Secret | undefined
  readonly refreshExpiresAtMs: number | undefined
  /** Separated by spaces. */
  readonly scope: string | undefined
}

/** Login, refresh; also registration, where `no_token` is an answer like any other. */
export function parseTokens(json: unknown, nowMs: number): Result<Tokens, 'no_token'> {
  const parsed = tokens.safeParse(json)
  if (!parsed.success) return fail('no_token')
  const { access_token, expires_in, refresh_token, refresh_expires_in, scope } = parsed.data
  const after = (lifetime: number | undefined) =>
    lifetime === undefined ? undefined : nowMs + Math.floor(lifetime * 1000)
  return ok({
    accessToken: new Secret(access_token),
    // The lifetime first: it holds also where the two clocks differ.
    accessExpiresAtMs: after(expires_in) ?? readJwtExpiry(access_token) ?? undefined,
    refreshToken: refresh_token === undefined ? undefined : new Secret(refresh_token),
    refreshExpiresAtMs: refresh_token === undefined ? undefined : after(refresh_expires_in),
    scope,
  })
}

const time = wire.account.shape.created_at

const me = z.object({
  username: name,
  email: maybe(text),
  id: maybe(name),
  created_at: maybe(time),
  scopes: maybe(z.array(text)),
  session: maybe(
    z.object({ id: text, created_at: maybe(time), expires_at: maybe(time) }).nullable(),
  ),
  token: maybe(z.object({ id: text, name: text, expires_at: maybe(time) }).nullable()),
})
/** Who a token belongs to. The specification promises `username` and `email` alone. */
export type Me = z.infer<typeof me>

const sessions = z.object({
  sessions: z.array(
    z.object({
      id: name,
      created_at: maybe(time),
      expires_at: maybe(time),
      last_used_at: maybe(time.nullable()),
      user_agent: maybe(text.nullable()),
      address: maybe(text.nullable()),
      current: maybe(z.boolean()),
    }),
  ),
})
export type SessionView = z.infer<typeof sessions>['sessions'][number]

const serviceToken = z.object({
  id: name,
  name: text,
  scopes: maybe(z.array(text)),
  created_at: maybe(time),
  expires_at: maybe(time),
  last_used_at: maybe(time.nullable()),
})
export type TokenView = z.infer<typeof serviceToken>

const serviceTokens = z.object({ tokens: z.array(serviceToken) })
const createdToken = serviceToken.extend({ token: token.transform(value => new Secret(value)) })
export type CreatedToken = z.infer<typeof createdToken>

export const parseMe = parser(me)
export const parseSessions = parser(sessions)
export const parseServiceTokens = parser(serviceTokens)
export const parseCreatedToken = parser(createdToken)

/** The failure names members, never what stood there. */
function parser<T extends z.ZodType>(schema: T) {
  return (json: unknown): Result<z.output<T>, string> => {
    const parsed = schema.safeParse(json)
    if (parsed.success) return ok(parsed.data)
    const at = parsed.error.issues[0]?.path.join('.') ?? ''
    return fail(at === '' ? 'it is no JSON object' : `no usable ${cleanText(at, 60)}`)
  }
}

const problem = z.object({
  detail: maybe(text),
  title: maybe(text),
  message: maybe(text),
  error_description: maybe(text),
  error: maybe(text),
  code: maybe(z.string().regex(/^[a-z0-9_-]{1,64}$/)),
  instance: maybe(text),
  errors: maybe(z.array(z.object({ pointer: text, detail: text })).max(50)),
  retry_after: maybe(seconds),
})

export interface ProblemFacts {
  /** In words, or undefined when the body says nothing. */
  readonly detail: string | undefined
  readonly code: string | undefined
  readonly requestId: string | undefined
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[]
  readonly retryAfterMs: number | undefined
}

/** What the body of a refusal says: RFC 9457, or the member names that others use. */
export function readProblem(json: unknown): ProblemFacts {
  const parsed = problem.safeParse(json)
  const found: Partial<z.infer<typeof problem>> = parsed.success ? parsed.data : {}
  const { detail, error_description, message, title, error, retry_after } = found
  return {
    detail: [detail, error_description, message, title, error].find(words => words),
    code: found.code,
    requestId: found.instance,
    errors: found.errors ?? [],
    retryAfterMs: retry_after === undefined ? undefined : retry_after * 1000,
  }
}
