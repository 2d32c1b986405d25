import { z } from 'zod'
import { passwordChars, serviceScopes } from './protocol.ts'

/**
 * Requests and answers of the accounts API (docs/accounts.md), stated once: the server checks and
 * documents with these what it takes and gives, and the client checks answers with them. Requests
 * refuse members that are not listed; answers may gain members within `v1`, so clients pass them
 * over.
 * Member names of tokens are those of RFC 6749, section 5.1.
 */

/** What is unique of a user name or an email address; both are kept as they were typed. */
export function accountKey(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

const usernamePattern = /^[A-Za-z0-9](?:[A-Za-z0-9]|[._-](?=[A-Za-z0-9])){2,63}$/
const maxEmailChars = 254

/** Teams are words in lower case. */
export const teamName = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9]|[._-](?=[a-z0-9])){0,63}$/,
    'must be 1 to 64 letters and digits, with single . _ - between them',
  )

/**
 * What a token allows: `read:scene` less than `read`. `account`: managing the account itself, which
 * no service token can. `instance`: joining a gateway, which only a service token can.
 */
export const scopes = ['account', ...serviceScopes] as const
export type TokenScope = (typeof scopes)[number]

const controls = /[\u0000-\u001f\u007f-\u009f]/

/** Text that every store keeps as it is: no control characters, no lone surrogates. */
const plainText = (most: number) =>
  z
    .string()
    .max(most)
    .refine(text => text.isWellFormed() && !controls.test(text), 'has characters that are not text')

const password = z
  .string()
  .refine(text => text.isWellFormed(), 'has characters that are not text')
  .refine(text => {
    const { length } = Array.from(text.normalize('NFC'))
    return length >= passwordChars.least && length <= passwordChars.most
  }, `must have ${passwordChars.least} to ${passwordChars.most} characters`)
  // For the document: lengths are those in code points after NFC, which no JSON Schema counts.
  .meta({ format: 'password', minLength: passwordChars.least, maxLength: passwordChars.most })

export const registerRequest = z.strictObject({
  username: z
    .string()
    .regex(usernamePattern, 'must be 3 to 64 letters and digits, with single . _ - between them'),
  email: z
    .string()
    .max(maxEmailChars, `must have at most ${maxEmailChars} characters`)
    .refine(
      text => /^[^\s\p{C}]+$/u.test(text) && text.includes('@'),
      'must have an @, and no spaces or control characters',
    ),
  password,
  /** The one-time code of the operator, where one is needed. */
  invite: plainText(200).trim().optional(),
})

/** `username` may hold the email address. No rule of a new account is checked here. */
export const loginRequest = z.strictObject({
  username: plainText(maxEmailChars).min(1),
  password: z.string().min(1).max(4096),
})

/** Also empty: then the access token in the Authorization header is refreshed. */
export const refreshRequest = z.strictObject({ refresh_token: plainText(200).optional() })

export const logoutRequest = z.strictObject({
  /** Every session of the account, not this one alone. */
  all: z.boolean().optional(),
})

export const passwordRequest = z.strictObject({
  current_password: z.string().min(1).max(4096),
  new_password: password,
})

/** With a one-time code of the operator, for an account that lost its password. */
export const resetRequest = z.strictObject({
  username: plainText(maxEmailChars).min(1),
  code: plainText(200).trim().min(1),
  new_password: password,
})

export const tokenRequest = z.strictObject({
  name: plainText(100).refine(text => text.trim() !== '', 'must not be empty'),
  scopes: z.array(z.enum(serviceScopes)).min(1).optional(),
  /** Default 90, at most 365. */
  expires_in_days: z.int().min(1).max(365).optional(),
})

const time = z.iso.datetime({ offset: true })

export const account = z.object({
  id: z.string(),
  username: z.string(),
  email: z.string(),
  created_at: time,
})

/** `refresh_token` is absent when an access token was merely issued again. */
export const tokenResponse = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  /** Seconds. */
  expires_in: z.int(),
  refresh_token: z.string().optional(),
  refresh_expires_in: z.int().optional(),
  /** Separated by spaces. */
  scope: z.string(),
})

/** The answer to a registration and a login: the tokens, and whose they are. */
export const loginResponse = tokenResponse.extend({ account })

export const meResponse = account.extend({
  /** Set by the operator; null: in none. */
  team: z.string().nullable(),
  scopes: z.array(z.enum(scopes)),
  /** Null for a service token. */
  session: z.object({ id: z.string(), created_at: time, expires_at: time }).nullable(),
  /** Null for a session. */
  token: z.object({ id: z.string(), name: z.string(), expires_at: time }).nullable(),
})

const serviceToken = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(serviceScopes)),
  created_at: time,
  expires_at: time,
})

/** The only time that `token` is shown. */
export const tokenCreatedResponse = serviceToken.extend({ token: z.string() })
export const tokensResponse = z.object({ tokens: z.array(serviceToken) })

/** What ended with the old password. */
export const resetResponse = z.object({
  ended_sessions: z.int(),
  ended_tokens: z.array(serviceToken),
})

/** RFC 9457 with the members of this API. */
export const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().optional(),
  /** For programs: one of the words of docs/reference.md, "Error codes". */
  code: z.string(),
  errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  /** Seconds. */
  retry_after: z.int().optional(),
})

export type RegisterRequest = z.infer<typeof registerRequest>
export type TokenResponse = z.infer<typeof tokenResponse>
export type MeResponse = z.infer<typeof meResponse>
export type ServiceTokenView = z.infer<typeof serviceToken>
