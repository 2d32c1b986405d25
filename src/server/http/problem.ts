import { STATUS_CODES, type ServerResponse } from 'node:http'
import { type ErrorCode, isLocal, publicMessage, ServiceError } from '../../lib/util/errors.ts'
import { endRefused } from './refused-body.ts'

/** The status of each. */
const statuses: Record<ErrorCode, number> = {
  usage_invalid: 400,
  config_invalid: 500,
  config_busy: 500,
  auth_required: 401,
  auth_refused: 401,
  login_invalid: 403,
  scope_insufficient: 403,
  request_refused: 403,
  body_invalid: 400,
  body_too_large: 413,
  body_timeout: 408,
  media_type_unsupported: 415,
  route_not_found: 404,
  method_not_allowed: 405,
  upgrade_required: 426,
  limit_reached: 429,
  overloaded: 503,
  port_in_use: 500,
  listen_failed: 500,
  registry_dir_unsafe: 500,
  file_exists: 500,
  entry_exists: 500,
  storage_failed: 500,
  storage_full: 507,
  storage_unavailable: 503,
  resource_not_found: 404,
  resource_not_enabled: 404,
  resource_uri_invalid: 400,
  tool_call_invalid: 400,
  argument_invalid: 400,
  resource_failed: 500,
  session_ended: 404,
  scene_live: 409,
  name_taken: 409,
  note_state: 409,
  scene_stale: 409,
  artefact_too_large: 413,
  artefact_corrupt: 500,
  network_failed: 500,
  net_timeout: 500,
  rate_limited: 429,
  registry_failed: 500,
  registry_answer_invalid: 500,
  cancelled: 500,
  internal: 500,
}

/** RFC 9457, with the kebab-case `code` for programs and the `hint` for people. */
export interface Problem {
  /** `urn:service:problem:<code>` */
  readonly type: string
  /** The phrase of the status. */
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: string
  readonly hint?: string
  /** Public facts of the error, for example `errors: [{ pointer, detail }]`. */
  readonly [member: string]: unknown
}

/** What a client may know of an error. Anything but a `ServiceError` says nothing of itself. */
export function toProblem(error: unknown): Problem {
  if (!(error instanceof ServiceError)) return toProblem(new ServiceError('internal', 'internal'))
  const { code, data, hint } = error
  const problem = makeProblem(statuses[code], code.replaceAll('_', '-'), publicMessage(error))
  return isLocal(error) ? problem : { ...data, ...problem, hint }
}

/** A problem without a `ServiceError`; its code need not be an `ErrorCode`. */
export function makeProblem(status: number, code: string, detail: string): Problem {
  const title = STATUS_CODES[status] ?? 'Error'
  return { type: `urn:service:problem:${code}`, title, status, detail, code }
}

/** `Retry-After` for a server that is only busy now; what it waits for ends within seconds. */
export function retryHeaders(status: number): Readonly<Record<string, string>> {
  return status === 503 ? { 'Retry-After': '1' } : {}
}

/** Answers with what a client may know of the error; otherwise as `sendProblem`. */
export function writeProblem(
  res: ServerResponse,
  error: unknown,
  extraHeaders: Readonly<Record<string, string>> = {},
  drainMs?: number,
): void {
  sendProblem(res, toProblem(error), extraHeaders, drainMs)
}

/**
 * Answers with the problem. A body that the client is still sending ends the connection, but
 * only after the client had the time (`drainMs`) to read the answer. After the headers went out
 * there is no way left to tell: the connection is cut.
 */
export function sendProblem(
  res: ServerResponse,
  problem: Problem,
  extraHeaders: Readonly<Record<string, string>> = {},
  drainMs?: number,
): void {
  if (res.headersSent || res.destroyed) {
    res.destroy()
    return
  }
  const headers = {
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...retryHeaders(problem.status),
    ...extraHeaders,
  }
  endRefused(res, problem.status, headers, Buffer.from(JSON.stringify(problem)), drainMs)
}
