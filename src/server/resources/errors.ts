import { type ErrorDetails, ServiceError } from '../../lib/util/errors.ts'

/**
 * Thrown by a producer (built-in or custom) for a URI it does not have; `data.uri` is it.
 * `applicationMessage`: what the linked application said, marked as its words.
 */
export class ResourceNotFound extends ServiceError {
  constructor(uri: string, applicationMessage = '') {
    const words = applicationWords(applicationMessage)
    super('resource_not_found', `no resource at ${uri}${words}`, { data: { uri } })
  }
}

/** Text of the application for a message, quoted so that it cannot pass for the server's own. */
export function applicationWords(message: string): string {
  return message && `; the application says: ${JSON.stringify(message)}`
}

/** The scheme is known, its backend is switched off; `data.uri` is what was asked for. */
export class ResourceNotEnabled extends ServiceError {
  constructor(uri: string, hint: string) {
    super('resource_not_enabled', `resource not enabled: ${uri}`, { hint, data: { uri } })
  }
}

/**
 * The URI itself is wrong: malformed, too long, a parameter out of its form. The message reaches
 * the client.
 */
export class ResourceUriInvalid extends ServiceError {
  constructor(message: string, details: Pick<ErrorDetails, 'hint' | 'data'> = {}) {
    super('resource_uri_invalid', message, details)
  }
}

/** What a reader learns of a failed producer; the log has the rest. */
export function producerFailure(
  scheme: string,
  reason: 'producer_failed' | 'producer_timeout',
): ServiceError {
  const what = reason === 'producer_timeout' ? 'did not answer in time' : 'failed'
  return new ServiceError('resource_failed', `the producer of ${scheme}:// ${what}`, {
    hint: 'see the log of the server',
    data: { reason },
  })
}
