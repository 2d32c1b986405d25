import { ServiceError } from '../util/errors.ts'
import type { LinkErrorCode } from './wire.ts'

/** The error codes of the protocol and of the client. */
export type HostLinkErrorCode =
  | LinkErrorCode
  /** The link is not open, or was lost. */
  | 'disconnected'
  /** The server did not answer in time. */
  | 'timeout'
  /** The client was stopped, or the caller's signal fired. */
  | 'stopped'
  /** The server refuses this client; see `status.text`. */
  | 'refused'

/** An error of the host link with a stable `code`. */
export class HostLinkError extends Error {
  override readonly name: string = 'HostLinkError'
  readonly code: HostLinkErrorCode
  /** A later retry may succeed. */
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

/** The protocol's reasons for a missing picture. */
export type PictureRefusal =
  | 'minimised'
  | 'no_window'
  | 'blank'
  | 'permission'
  /** There is no such camera or object. */
  | 'not_found'

/** Throw it in a handler of `provideCapture` when no picture is available. */
export class PictureUnavailable extends HostLinkError {
  override readonly name = 'PictureUnavailable'

  constructor(reason: PictureRefusal, message: string = reason) {
    super(reason, message)
  }
}

/** The part of a producer's error that clients receive. */
interface AnswerFailure {
  readonly code: LinkErrorCode
  readonly message: string
  readonly retryable: boolean
}

const pictureCodes: readonly string[] = ['minimised', 'no_window', 'blank', 'permission']
const publicCodes: readonly string[] = [
  'not_found',
  'busy',
  'invalid',
  'unsupported',
  'limit',
  ...pictureCodes,
]

/** Unexpected errors become `internal` without their message, which may contain private data. */
export function answerFailure(error: unknown): AnswerFailure {
  if (error instanceof HostLinkError && publicCodes.includes(error.code)) {
    const { code, message, retryable } = error
    return { code: code as LinkErrorCode, message, retryable }
  }
  // Library producers throw these; a producer works in both places.
  if (error instanceof ServiceError) {
    if (error.code === 'resource_not_found') return failure('not_found', error.message)
    if (error.code === 'resource_uri_invalid') return failure('invalid', error.message)
  }
  return failure('internal', 'the application failed to answer')
}

function failure(code: LinkErrorCode, message: string): AnswerFailure {
  return { code, message, retryable: false }
}
