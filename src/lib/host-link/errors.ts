import { ServiceError } from '../util/errors.ts'
import type { LinkErrorCode } from './wire.ts'

/** The codes of the protocol, and what happens on this side of it. */
export type HostLinkErrorCode =
  | LinkErrorCode
  /** The link was lost, or is not open. */
  | 'disconnected'
  /** The server did not answer, or the time given has passed. */
  | 'timeout'
  /** The client was stopped, or the caller's signal fired. */
  | 'stopped'
  /** The server does not want this client: see `status.text`. */
  | 'refused'

/** What went wrong between the application and the server: a stable `code`, and a sentence. */
export class HostLinkError extends Error {
  override readonly name: string = 'HostLinkError'
  readonly code: HostLinkErrorCode
  /** Worth another try, later. */
  readonly retryable: boolean

  constructor(code: HostLinkErrorCode, message: string, retryable = false, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.retryable = retryable
  }
}

/** Throw it in a producer's `read` for a URI that does not exist. */
export class ResourceNotFound extends HostLinkError {
  override readonly name = 'ResourceNotFound'

  constructor(uri: string) {
    super('not_found', `no resource at ${uri}`)
  }
}

/** Throw it in a producer's `read` while the application cannot answer (a dialog, a render). */
export class HostBusy extends HostLinkError {
  override readonly name = 'HostBusy'

  constructor(message = 'the application is busy') {
    super('busy', message, true)
  }
}

/** Why there is no picture, by the words of the protocol. */
export type PictureRefusal = 'minimised' | 'no_window' | 'blank' | 'permission'

/** Throw it in a handler of `provideCapture` when there is no picture to be had. */
export class PictureUnavailable extends HostLinkError {
  override readonly name = 'PictureUnavailable'

  constructor(reason: PictureRefusal, message: string = reason) {
    super(reason, message)
  }
}

/** What a reader learns of an error that a producer threw. */
interface AnswerFailure {
  readonly code: LinkErrorCode
  readonly message: string
  readonly retryable: boolean
}

const pictureCodes: readonly string[] = ['minimised', 'no_window', 'blank', 'permission']
const told: readonly string[] = [
  ...['not_found', 'busy', 'invalid', 'unsupported', 'limit'],
  ...pictureCodes,
]

/** Anything unforeseen is `internal` without its message: that may hold what is nobody's business. */
export function answerFailure(error: unknown): AnswerFailure {
  if (error instanceof HostLinkError && told.includes(error.code)) {
    const { code, message, retryable } = error
    return { code: code as LinkErrorCode, message, retryable }
  }
  // Those that the library's own producers throw, so that one producer serves both ways.
  if (error instanceof ServiceError) {
    if (error.code === 'resource_not_found') return failure('not_found', error.message)
    if (error.code === 'resource_uri_invalid') return failure('invalid', error.message)
  }
  return failure('internal', 'the application failed to answer')
}

function failure(code: LinkErrorCode, message: string): AnswerFailure {
  return { code, message, retryable: false }
}
