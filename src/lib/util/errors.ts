/** Conditions that the client of a server may read of, with the exit code of a command. */
const publicExitCodes = {
  usage_invalid: 2,
  auth_required: 4,
  auth_refused: 4,
  login_invalid: 4,
  scope_insufficient: 4,
  request_refused: 3,
  body_invalid: 3,
  body_too_large: 3,
  body_timeout: 5,
  media_type_unsupported: 3,
  route_not_found: 3,
  method_not_allowed: 3,
  upgrade_required: 3,
  limit_reached: 6,
  overloaded: 6,
  resource_not_found: 3,
  resource_not_enabled: 3,
  resource_uri_invalid: 3,
  resource_failed: 1,
  tool_call_invalid: 3,
  argument_invalid: 3,
  scene_live: 1,
  name_taken: 1,
  note_state: 1,
  scene_stale: 1,
  artefact_too_large: 3,
  artefact_corrupt: 1,
  rate_limited: 6,
} as const

/** Their messages are about this machine (paths, system errors), and belong into the log. */
const localExitCodes = {
  config_invalid: 2,
  config_busy: 1,
  port_in_use: 1,
  listen_failed: 1,
  registry_dir_unsafe: 2,
  file_exists: 1,
  entry_exists: 1,
  storage_failed: 1,
  storage_full: 1,
  storage_unavailable: 1,
  network_failed: 5,
  net_timeout: 5,
  registry_failed: 1,
  registry_answer_invalid: 1,
  cancelled: 130,
  internal: 1,
} as const

const exitCodes = { ...publicExitCodes, ...localExitCodes }

export type ErrorCode = keyof typeof exitCodes

/** What a caller may add to an error: the cause, what to do about it, facts safe to show. */
export interface ErrorDetails {
  cause?: unknown
  /** One sentence that tells the reader what to do next. */
  hint?: string
  /** Public facts (never a secret, a stack or a path the client did not send). */
  data?: Readonly<Record<string, unknown>>
}

/**
 * The one error class of the program: a stable `code`, a message, an optional `hint`. To oclif it is
 * a `CLIError`: oclif goes by `suggestions` and `oclif.exit`. It does not extend that class, which
 * would load all of oclif into programs that use the library.
 */
export class ServiceError extends Error {
  override readonly name: string = 'ServiceError'
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
    return { exit: exitCodes[this.code] }
  }

  get suggestions(): string[] {
    return this.hint === undefined ? [] : [this.hint]
  }
}

/** Whether the message must not reach clients of a server. */
export function isLocal({ code }: ServiceError): boolean {
  return code in localExitCodes
}

/** What clients of a server may know of the message. */
export function publicMessage(error: ServiceError): string {
  if (!isLocal(error)) return error.message
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

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ELOOP: 'too many symbolic links',
}

/** The reason why a file cannot be read, in words; the error code when it has no words. */
export function readProblem(error: unknown): string {
  const code = errnoOf(error)
  return code === null ? 'unknown error' : (reasons[code] ?? code)
}
