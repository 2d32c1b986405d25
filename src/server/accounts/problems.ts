import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { z } from 'zod'
import type * as wire from '../../lib/accounts/wire.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { RequestRefused } from '../http/guard.ts'
import { makeProblem } from '../http/problem.ts'

/** Every refusal of the accounts server. `docs/reference.md` has a row for each, in this order. */
export const problemTable = {
  'malformed-json': { status: 400, meaning: 'the body is not JSON' },
  'malformed-request': { status: 400, meaning: 'the path or a header is malformed' },
  'invalid-credentials': { status: 401, meaning: 'the name, password or code is wrong' },
  'token-missing': { status: 401, meaning: 'no Bearer token was sent' },
  'token-invalid': { status: 401, meaning: 'the token is not valid here' },
  'token-expired': { status: 401, meaning: 'refresh the token, or log in again' },
  'token-revoked': { status: 401, meaning: 'the login, service token or account has ended' },
  'refresh-reused': { status: 401, meaning: 'an old refresh token ended the login' },
  'account-disabled': { status: 403, meaning: 'the operator disabled the account' },
  'insufficient-scope': { status: 403, meaning: 'only the token of a login may do this' },
  'registration-closed': { status: 403, meaning: 'no valid invitation, or no registration' },
  'host-not-allowed': { status: 403, meaning: 'allow the Host with --allowed-host' },
  'origin-not-allowed': { status: 403, meaning: 'allow the Origin with --allowed-origin' },
  'not-found': { status: 404, meaning: 'there is no such path or token' },
  'method-not-allowed': { status: 405, meaning: 'the path takes other methods; see Allow' },
  'account-exists': { status: 409, meaning: 'the name or email address is taken' },
  'request-timeout': { status: 408, meaning: 'the body stopped arriving' },
  'body-too-large': { status: 413, meaning: 'the body is larger than 16 KiB' },
  'unsupported-media-type': { status: 415, meaning: 'the body must be plain application/json' },
  'validation-failed': { status: 422, meaning: 'a member is invalid; "errors" names it' },
  'password-blocked': { status: 422, meaning: 'the password is easily guessed' },
  'rate-limited': { status: 429, meaning: 'too many failures; wait for retry_after' },
  internal: { status: 500, meaning: 'the server failed; its log has the reason' },
  overloaded: { status: 503, meaning: 'too many passwords wait to be hashed; retry' },
  'storage-unavailable': { status: 503, meaning: 'the database or disk fails; retry' },
} as const

export type ProblemCode = keyof typeof problemTable

/** What an answer may have beside its code and message. */
type Facts = Pick<z.infer<typeof wire.problem>, 'errors' | 'retry_after'>

/** Refuses a request; the message is shown to the client. */
export class AccountsProblem extends Error {
  readonly code: ProblemCode
  readonly status
  readonly facts: Facts

  constructor(code: ProblemCode, message: string, facts: Facts = {}, cause?: unknown) {
    super(message, { cause })
    this.code = code
    this.status = problemTable[code].status
    this.facts = facts
  }
}

/** The words for what is refused before the routes. */
const ofRequests: Partial<Record<string, ProblemCode>> = {
  host_not_allowed: 'host-not-allowed',
  origin_not_allowed: 'origin-not-allowed',
  body_too_large: 'body-too-large',
  body_timeout: 'request-timeout',
}

/** Anything unexpected is internal and shows no message. */
export function toAccountsProblem(error: unknown): AccountsProblem {
  if (error instanceof AccountsProblem) return error
  if (error instanceof RequestRefused) {
    return new AccountsProblem(ofRequests[error.reason] ?? 'malformed-request', error.message)
  }
  if (error instanceof HTTPException && error.status === 400) {
    return new AccountsProblem('malformed-json', 'the body is not JSON')
  }
  if (error instanceof ServiceError && error.code.startsWith('body_')) {
    return new AccountsProblem(ofRequests[error.code] ?? 'malformed-request', error.message)
  }
  if (error instanceof ServiceError && error.code.startsWith('storage_')) {
    // Its own message is about this machine.
    const message = 'the accounts cannot be read or written at the moment'
    return new AccountsProblem('storage-unavailable', message, { retry_after: 5 }, error)
  }
  const message = 'the server could not do this; its log has the reason'
  return new AccountsProblem('internal', message, {}, error)
}

const realm = 'Bearer realm="registry"'

/** Answers as RFC 9457 has it. */
export function sendProblem(c: Context, problem: AccountsProblem): Response {
  const { code, status, message, facts } = problem
  const body = { ...makeProblem(status, code, message), ...facts }
  if (facts.retry_after !== undefined) c.header('Retry-After', String(facts.retry_after))
  // RFC 6750, section 3: no error word when no token was presented.
  if (code === 'token-missing' || code === 'invalid-credentials') {
    c.header('WWW-Authenticate', realm)
  } else if (status === 401) {
    c.header('WWW-Authenticate', `${realm}, error="invalid_token"`)
  } else if (code === 'insufficient-scope') {
    c.header('WWW-Authenticate', `${realm}, error="insufficient_scope", scope="account"`)
  }
  return c.body(JSON.stringify(body), status, { 'Content-Type': 'application/problem+json' })
}
