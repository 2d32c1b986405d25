import type { Logger } from '../../lib/util/logger.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { ResourceNotFound, ResourceUriInvalid } from './errors.ts'

export type FailureReason = 'producer_failed' | 'producer_timeout'

/** What happened, and what to do. A failure is likely to repeat: only a timeout suggests a retry. */
const failures: Record<FailureReason, readonly [what: string, hint: string]> = {
  producer_failed: ['failed', 'see the log of the server'],
  producer_timeout: ['did not answer in time', 'try again; the log of the server says more'],
}

/** What a reader learns of a failed producer; the log has the rest. */
export function producerFailure(scheme: string, reason: FailureReason): ServiceError {
  const [what, hint] = failures[reason]
  return new ServiceError('resource_failed', `the producer of ${scheme}:// ${what}`, {
    hint,
    data: { reason },
  })
}

/**
 * Errors of our own resources keep their meaning (a damaged artefact was logged by its store);
 * anything else is logged and hidden.
 */
export function ownReadError(
  error: unknown,
  scheme: string,
  uri: string,
  log: Logger,
): ServiceError {
  if (error instanceof ServiceError && isForReader(error)) return error
  log.error({ err: error, scheme, uri }, 'resource read failed')
  return producerFailure(scheme, 'producer_failed')
}

function isForReader({ code }: ServiceError): boolean {
  return code.startsWith('resource_') || code === 'artefact_corrupt'
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
