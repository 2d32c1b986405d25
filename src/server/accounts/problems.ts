import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { ServiceError } from '../../lib/util/errors.ts'
import { RequestRefused } from '../http/guard.ts'
import { makeProblem } from '../http/problem.ts'

/** Every refusal of the accounts server: the word for programs and its status (docs/registry.md). */
const statuses = {
  'malformed-json': 400,
  'malformed-request': 400,
  'invalid-credentials': 401,
  'token-missing': 401,
  'token-invalid': 401,
  'token-expired': 401,
  'token-revoked': 401,
  'refresh-reused': 401,
  'account-disabled': 403,
  'insufficient-scope': 403,
  'registration-closed': 403,
  'host-not-allowed': 403,
  'origin-not-allowed': 403,
  'not-found': 404,
  'method-not-allowed': 405,
  'account-exists': 409,
  'request-timeout': 408,
  'body-too-large': 413,
  'unsupported-media-type': 415,
  'validation-failed': 422,
  'password-blocked': 422,
  'rate-limited': 429,
  internal: 500,
  overloaded: 503,
  'storage-unavailable': 503,
} as const

export type ProblemCode = keyof typeof statuses

interface ProblemDetails extends ErrorOptions {
  /** Wrong members of the body, by JSON pointer. */
  errors?: { pointer: string; detail: string }[]
  /** Seconds; also sent as `Retry-After`. */
  retryAfter?: number
}

/** Refuses a request; the message is shown to the client. */
export class AccountsProblem extends Error {
  override readonly name = 'AccountsProblem'
  readonly code: ProblemCode
  readonly status
  readonly details: ProblemDetails

  constructor(code: ProblemCode, message: string, details: ProblemDetails = {}) {
    super(message, details)
    this.code = code
    this.status = statuses[code]
    this.details = details
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
    return new AccountsProblem('storage-unavailable', message, { retryAfter: 5, cause: error })
  }
  const message = 'the server could not do this; its log has the reason'
  return new AccountsProblem('internal', message, { cause: error })
}

const realm = 'Bearer realm="registry"'

/** Answers as RFC 9457 has it. */
export function sendProblem(c: Context, problem: AccountsProblem, requestId: string): Response {
  const { code, status, message, details } = problem
  const body = {
    ...makeProblem(status, code, message),
    instance: `urn:uuid:${requestId}`,
    errors: details.errors,
    retry_after: details.retryAfter,
  }
  if (details.retryAfter !== undefined) c.header('Retry-After', String(details.retryAfter))
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
