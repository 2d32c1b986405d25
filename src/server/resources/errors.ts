import { type ErrorDetails, publicMessage, ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { ResourceUri } from './resource-uri.ts'

/**
 * Thrown by a producer (built-in or custom) for a URI it does not have; `data.uri` is it.
 * `applicationMessage`: what the linked application said, marked as its words.
 */
export class ResourceNotFound extends ServiceError {
  override readonly name = 'ResourceNotFound'

  constructor(uri: string, applicationMessage = '') {
    const { text, data } = applicationWords(applicationMessage)
    super('resource_not_found', `no resource at ${uri}${text}`, { data: { uri, ...data } })
  }
}

/** Text of the application for a message, quoted so that it cannot pass for the server's own. */
export function applicationWords(message: string): {
  readonly text: string
  readonly data: { readonly application_message?: string }
} {
  if (message === '') return { text: '', data: {} }
  const text = `; the application says: ${JSON.stringify(message)}`
  return { text, data: { application_message: message } }
}

/** The scheme is known, its backend is switched off; `data.uri` is what was asked for. */
export class ResourceNotEnabled extends ServiceError {
  override readonly name = 'ResourceNotEnabled'

  constructor(uri: string, hint: string) {
    super('resource_not_enabled', `resource not enabled: ${uri}`, { hint, data: { uri } })
  }
}

/**
 * The URI itself is wrong: malformed, too long, a parameter out of its form. The message reaches
 * the client.
 */
export class ResourceUriInvalid extends ServiceError {
  override readonly name = 'ResourceUriInvalid'

  constructor(message: string, details: Pick<ErrorDetails, 'hint' | 'data'> = {}) {
    super('resource_uri_invalid', message, details)
  }
}

type FailureReason = 'producer_failed' | 'producer_timeout'

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
  { scheme, text: uri }: ResourceUri,
  log: Logger,
): ServiceError {
  if (error instanceof ServiceError && isForReader(error)) return naming(error, uri)
  if (error instanceof ServiceError && error.code === 'storage_unavailable') {
    log.warn({ reason: error.message, scheme, uri }, 'resource read failed')
    const data = { reason: error.code }
    return new ServiceError('resource_failed', publicMessage(error), { data })
  }
  log.error({ err: error, scheme, uri }, 'resource read failed')
  return producerFailure(scheme, 'producer_failed')
}

/** Every answer "not found" says of what: clients tell it by that in 2026-07-28. */
function naming(error: ServiceError, uri: string): ServiceError {
  const { code, message, hint, data } = error
  if (code !== 'resource_not_found' || data?.['uri'] !== undefined) return error
  return new ServiceError(code, message, { hint, data: { ...data, uri }, cause: error })
}

function isForReader({ code }: ServiceError): boolean {
  return code.startsWith('resource_') || code === 'artefact_corrupt'
}
