import { getSystemErrorMap } from 'node:util'

/**
 * Conditions that the client of a server may read of: the exit code of a command, the status of an
 * HTTP answer, and what it means. `docs/reference.md` has a row for each, in this order.
 */
const publicErrors = {
  usage_invalid: { exit: 2, status: 400, meaning: 'a flag or value is invalid or missing' },
  auth_required: { exit: 4, status: 401, meaning: 'a key, token or login is required' },
  auth_refused: { exit: 4, status: 401, meaning: 'the key, token or password is not valid' },
  login_invalid: { exit: 4, status: 403, meaning: 'the login link is invalid or expired' },
  scope_insufficient: { exit: 4, status: 403, meaning: 'the key or token does not allow this' },
  request_refused: { exit: 3, status: 403, meaning: 'the server refuses this request' },
  body_invalid: { exit: 3, status: 400, meaning: 'a member, parameter or header is invalid' },
  body_too_large: { exit: 3, status: 413, meaning: 'the body is larger than its limit' },
  body_timeout: { exit: 5, status: 408, meaning: 'the body stopped arriving' },
  media_type_unsupported: { exit: 3, status: 415, meaning: 'the content type is not accepted' },
  route_not_found: { exit: 3, status: 404, meaning: 'nothing is served at this path' },
  method_not_allowed: { exit: 3, status: 405, meaning: 'the path takes other methods; see Allow' },
  upgrade_required: { exit: 3, status: 426, meaning: 'the path is for WebSockets' },
  limit_reached: { exit: 6, status: 429, meaning: 'a limit is reached; the message names it' },
  overloaded: { exit: 6, status: 503, meaning: 'the server or instance is busy; retry' },
  resource_not_found: { exit: 3, status: 404, meaning: 'there is no such resource' },
  resource_not_enabled: { exit: 3, status: 404, meaning: 'the resource is switched off' },
  resource_uri_invalid: { exit: 3, status: 400, meaning: 'the URI or a parameter is invalid' },
  resource_failed: { exit: 1, status: 500, meaning: 'the resource cannot be read now' },
  tool_call_invalid: { exit: 3, status: 400, meaning: 'there is no such tool' },
  argument_invalid: { exit: 3, status: 400, meaning: 'an argument of the tool is invalid' },
  scene_live: { exit: 1, status: 409, meaning: 'a connected application sends the scene' },
  name_taken: { exit: 1, status: 409, meaning: 'a checkpoint has this name' },
  note_state: { exit: 1, status: 409, meaning: 'the state of the note forbids this' },
  scene_stale: { exit: 1, status: 409, meaning: 'the patch is for another scene' },
  artefact_too_large: { exit: 3, status: 413, meaning: 'the artefact exceeds its limit' },
  artefact_corrupt: { exit: 1, status: 500, meaning: 'the bytes do not match their SHA-256' },
  rate_limited: { exit: 6, status: 429, meaning: 'too many attempts; wait, then retry' },
} as const

/** Their messages are about this machine (paths, system errors), and belong into the log. */
const localErrors = {
  config_invalid: { exit: 2, meaning: 'a file is invalid, or open to other users' },
  config_busy: { exit: 1, meaning: 'another command holds the file' },
  port_in_use: { exit: 1, meaning: 'another program holds the port' },
  listen_failed: { exit: 1, meaning: 'the server cannot listen on this address' },
  registry_dir_unsafe: { exit: 2, meaning: 'the state directory is open to others' },
  file_exists: { exit: 1, meaning: 'the file exists, and is not replaced' },
  entry_exists: { exit: 1, meaning: 'an entry with this name exists' },
  storage_failed: { exit: 1, status: 500, meaning: 'a file or database cannot be read or written' },
  storage_full: { exit: 1, status: 507, meaning: 'the disk or quota is full' },
  storage_unavailable: { exit: 1, status: 503, meaning: 'the storage is unreachable; retry' },
  network_failed: { exit: 5, meaning: 'the server cannot be reached, or no instance runs' },
  net_timeout: { exit: 5, meaning: 'the server did not answer in time' },
  registry_failed: { exit: 1, meaning: 'the accounts server fails; retry later' },
  registry_answer_invalid: { exit: 1, meaning: 'the answer is not that of an accounts server' },
  cancelled: { exit: 130, meaning: 'cancelled at a prompt, or by Ctrl-C' },
  internal: { exit: 1, status: 500, meaning: 'the program failed; its log says why' },
} as const

export type ErrorCode = keyof typeof publicErrors | keyof typeof localErrors

/** Without `status`: 500, were a server to answer with it. */
export const errorTable: Record<ErrorCode, { exit: number; status?: number; meaning: string }> = {
  ...publicErrors,
  ...localErrors,
}

/** What a caller may add to an error: the cause, what to do about it, facts safe to show. */
export interface ErrorDetails {
  cause?: unknown
  /** One sentence that tells the reader what to do next. */
  hint?: string
  /** Public facts (never a secret, a stack or a path the client did not send). */
  data?: Readonly<Record<string, unknown>>
}

/**
 * The one error class of the program: a stable `code`, a message, an optional `hint`. oclif takes the
 * exit code from `oclif.exit`. It does not extend `CLIError`, which would load all of oclif into
 * programs that use the library.
 */
export class ServiceError extends Error {
  /** That of its class. */
  override readonly name = this.constructor.name
  /** For programs; stable. */
  readonly code: ErrorCode
  /** For people: what to do next. */
  readonly hint: string | undefined
  /** Facts that may be shown to anyone. */
  readonly data: Readonly<Record<string, unknown>> | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.hint = details.hint
    this.data = details.data
  }

  get oclif(): { exit: number } {
    return { exit: errorTable[this.code].exit }
  }
}

/** Whether the message must not reach clients of a server. */
export function isPrivate({ code }: ServiceError): boolean {
  return code in localErrors
}

/** What clients of a server may know of the message. */
export function publicMessage(error: ServiceError): string {
  if (!isPrivate(error)) return error.message
  const { code } = error
  if (code === 'storage_full') return 'the server has no room left to store this'
  if (code === 'storage_unavailable') return 'the server cannot reach its storage now; try again'
  return 'the server could not do this; its log has the reason'
}

/** The user wrote something that cannot be meant: exit code 2. `hint` says what to write instead. */
export function usage(message: string, hint?: string): ServiceError {
  return new ServiceError('usage_invalid', message, { hint })
}

/** A file of the user that is not taken as it is: `${path} ${what}`. */
export function unusableFile(path: string, what: string, hint: string): ServiceError {
  return new ServiceError('config_invalid', `${path} ${what}`, { hint })
}

/** What was thrown, as text: anything may be thrown, though nearly always it is an `Error`. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The `code` of an error of the operating system (`ENOENT`), or null for any other value. */
export function errnoOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || !('errno' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

/** Returns whether the disk, or the quota of the user, is full. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(errnoOf(error) ?? '')
}

/** Returns whether the path does not exist. */
export function isMissing(error: unknown): boolean {
  const code = errnoOf(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** By code: `ENOENT`, "no such file or directory". */
export const systemMessages = new Map(getSystemErrorMap().values()).set('EISDIR', 'it is a folder')

/** The reason why a file cannot be read, in words. */
export function readProblem(error: unknown): string {
  return systemMessages.get(errnoOf(error) ?? '') ?? 'unknown error'
}
