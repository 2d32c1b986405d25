import { STATUS_CODES, type ServerResponse } from 'node:http'
import { type ErrorCode, ServiceError } from '../../lib/util/errors.ts'
import { defaultLimits } from '../../lib/config/limits.ts'
import { endRefused } from './refused-body.ts'

interface Row {
  readonly status: number
  /**
   * The message is about this machine (paths, system errors): it belongs into the log, the client
   * gets the status phrase.
   */
  readonly local?: true
}

const table: Record<ErrorCode, Row> = {
  usage_invalid: { status: 400 },
  config_invalid: { status: 500, local: true },
  config_busy: { status: 500, local: true },
  auth_required: { status: 401 },
  auth_refused: { status: 401 },
  login_invalid: { status: 403 },
  scope_insufficient: { status: 403 },
  request_refused: { status: 403 },
  body_invalid: { status: 400 },
  body_too_large: { status: 413 },
  body_timeout: { status: 408 },
  media_type_unsupported: { status: 415 },
  route_not_found: { status: 404 },
  method_not_allowed: { status: 405 },
  upgrade_required: { status: 426 },
  limit_reached: { status: 429 },
  overloaded: { status: 503 },
  port_in_use: { status: 500, local: true },
  listen_failed: { status: 500, local: true },
  registry_dir_unsafe: { status: 500, local: true },
  file_exists: { status: 500, local: true },
  entry_exists: { status: 500, local: true },
  storage_failed: { status: 500, local: true },
  storage_full: { status: 507, local: true },
  storage_unavailable: { status: 503, local: true },
  resource_not_found: { status: 404 },
  resource_not_enabled: { status: 404 },
  resource_uri_invalid: { status: 400 },
  tool_call_invalid: { status: 400 },
  resource_failed: { status: 500 },
  session_ended: { status: 404 },
  scene_live: { status: 409 },
  name_taken: { status: 409 },
  note_state: { status: 409 },
  scene_stale: { status: 409 },
  artefact_too_large: { status: 413 },
  artefact_corrupt: { status: 500 },
  // Of the client of an accounts server: no server asks one.
  network_failed: { status: 500, local: true },
  net_timeout: { status: 500, local: true },
  tls_failed: { status: 500, local: true },
  proxy_failed: { status: 500, local: true },
  rate_limited: { status: 429 },
  registry_failed: { status: 500, local: true },
  registry_answer_invalid: { status: 500, local: true },
  cancelled: { status: 500, local: true },
  internal: { status: 500, local: true },
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
  readonly hint?: string | undefined
  /** Public facts of the error, for example `errors: [{ pointer, detail }]`. */
  readonly [member: string]: unknown
}

/** What a client may know of an error. Anything but a `ServiceError` says nothing of itself. */
export function toProblem(error: unknown): Problem {
  if (!(error instanceof ServiceError)) return toProblem(new ServiceError('internal', 'internal'))
  const { status, local } = table[error.code]
  const code = error.code.replaceAll('_', '-')
  const problem = makeProblem(status, code, local ? localDetail(error.code) : error.message)
  return local ? problem : { ...error.data, ...problem, hint: error.hint }
}

/** A problem without a `ServiceError`; its code need not be an `ErrorCode`. */
export function makeProblem(status: number, code: string, detail: string): Problem {
  const title = STATUS_CODES[status] ?? 'Error'
  return { type: `urn:service:problem:${code}`, title, status, detail, code }
}

function localDetail(code: ErrorCode): string {
  if (code === 'storage_full') return 'the server has no room left to store this'
  if (code === 'storage_unavailable') return 'the server cannot reach its storage now; try again'
  return 'the server could not do this; its log has the reason'
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
  drainMs: number = defaultLimits.refusedBodyDrainMs,
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
  extraHeaders: Readonly<Record<string, string>>,
  drainMs: number,
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
