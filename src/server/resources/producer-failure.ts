import type { Logger } from '../../lib/logger.ts'
import { ServiceError } from '../../lib/errors.ts'
import { ResourceNotFound, ResourceUriInvalid } from './errors.ts'

export type FailureReason = 'producer_failed' | 'producer_timeout'

/** What a reader learns of a failed producer; the log has the rest. */
export function producerFailure(scheme: string, reason: FailureReason): ServiceError {
  const what = reason === 'producer_timeout' ? 'did not answer in time' : 'failed'
  return new ServiceError('resource_failed', `the producer of ${scheme}:// ${what}`, {
    hint: 'try again; the log of the server says more',
    data: { reason },
  })
}

/** Errors of our own resources keep their meaning; anything else is logged and hidden. */
export function ownReadError(
  error: unknown,
  scheme: string,
  uri: string,
  log: Logger,
): ServiceError {
  if (error instanceof ServiceError && error.code.startsWith('resource_')) return error
  log.error({ err: error, scheme, uri }, 'resource read failed')
  return producerFailure(scheme, 'producer_failed')
}

/** A custom producer may say "not found" and "bad URI"; nothing else of it reaches the reader. */
export function customReadError(
  error: unknown,
  scheme: string,
  uri: string,
  log: Logger,
): ServiceError {
  if (error instanceof ServiceError && error.code === 'resource_not_found') {
    return new ResourceNotFound(uri)
  }
  if (error instanceof ResourceUriInvalid) return new ResourceUriInvalid(error.message)
  log.warn({ err: error, scheme, uri }, 'custom producer failed to read')
  return producerFailure(scheme, 'producer_failed')
}
