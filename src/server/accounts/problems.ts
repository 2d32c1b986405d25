import { STATUS_CODES } from 'node:http'
import { type ErrorCode, ServiceError } from '../../lib/util/errors.ts'
import type { Problem } from '../http/problem.ts'

/**
 * Every refusal of the accounts server: the word for programs, and its status (docs/registry.md).
 */
export const problemStatus = {
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
  'not-acceptable': 406,
  'request-timeout': 408,
  'account-exists': 409,
  'too-many-tokens': 409,
  'body-too-large': 413,
  'uri-too-long': 414,
  'unsupported-media-type': 415,
  'validation-failed': 422,
  'password-blocked': 422,
  'rate-limited': 429,
  'headers-too-large': 431,
  internal: 500,
  overloaded: 503,
  'storage-unavailable': 503,
} as const

export type ProblemSlug = keyof typeof problemStatus

export interface MemberError {
  /** JSON pointer into the body. */
  readonly pointer: string
  readonly detail: string
}

interface ProblemDetails {
  readonly errors?: readonly MemberError[]
  /** Seconds; also sent as `Retry-After`. */
  readonly retryAfter?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The scope that was missing. */
  readonly scope?: string
  readonly cause?: unknown
}

/** Refuses a request; the message is shown to the client. */
export class AccountsProblem extends Error {
  override readonly name: string = 'AccountsProblem'
  readonly slug: ProblemSlug
  readonly details: ProblemDetails

  constructor(slug: ProblemSlug, message: string, details: ProblemDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.slug = slug
    this.details = details
  }
}

/** What shared code throws, by error code. Anything else is internal and shows no message. */
const slugOf: Partial<Record<ErrorCode, ProblemSlug>> = {
  body_invalid: 'malformed-request',
  body_too_large: 'body-too-large',
  body_timeout: 'request-timeout',
  overloaded: 'overloaded',
  storage_failed: 'storage-unavailable',
  storage_full: 'storage-unavailable',
}

const storageRetrySeconds = 5

export function toAccountsProblem(error: unknown): AccountsProblem {
  if (error instanceof AccountsProblem) return error
  const slug = error instanceof ServiceError ? slugOf[error.code] : undefined
  if (slug === undefined) {
    const message = 'the server could not do this; its log has the reason'
    return new AccountsProblem('internal', message, { cause: error })
  }
  if (slug === 'storage-unavailable') {
    // The message is about this machine.
    return new AccountsProblem(slug, 'the accounts cannot be read or written at the moment', {
      retryAfter: storageRetrySeconds,
      cause: error,
    })
  }
  return new AccountsProblem(slug, (error as ServiceError).message, { cause: error })
}

/** RFC 9457. */
export function problemBody(
  { slug, message, details }: AccountsProblem,
  requestId: string,
): Problem {
  const status = problemStatus[slug]
  return {
    type: `urn:service:problem:${slug}`,
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: message,
    code: slug,
    instance: `urn:uuid:${requestId}`,
    ...(details.errors === undefined ? {} : { errors: [...details.errors] }),
    retry_after: details.retryAfter,
  }
}

export function problemHeaders(problem: AccountsProblem): Record<string, string> {
  const { details } = problem
  const challenge = challengeOf(problem)
  return {
    ...details.headers,
    ...(details.retryAfter === undefined ? {} : { 'Retry-After': String(details.retryAfter) }),
    ...(challenge === null ? {} : { 'WWW-Authenticate': challenge }),
  }
}

/** RFC 6750, section 3: no error word when no token was presented. */
function challengeOf({ slug, message, details }: AccountsProblem): string | null {
  const realm = 'Bearer realm="registry"'
  if (slug === 'insufficient-scope') {
    return `${realm}, error="insufficient_scope", scope="${details.scope ?? 'account'}"`
  }
  if (problemStatus[slug] !== 401) return null
  if (slug === 'token-missing' || slug === 'invalid-credentials') return realm
  return `${realm}, error="invalid_token", error_description="${message.replaceAll('"', "'")}"`
}
