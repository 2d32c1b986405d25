import { connectionReason } from '../../lib/util/connection-reason.ts'
import { ServiceError } from '../../lib/util/errors.ts'

/** The HTTP status of a refusal; null for any other error. */
export function statusOf(error: unknown): number | null {
  const { $metadata } = error as { $metadata?: { httpStatusCode?: unknown } }
  return typeof $metadata?.httpStatusCode === 'number' ? $metadata.httpStatusCode : null
}

/** What is wrong and what to do, by the name that S3 gives it. */
const refusals: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  NoSuchBucket: ['the bucket does not exist', 'create it, or correct its name'],
  AccessDenied: ['access denied', 'allow reading, writing, listing and deleting there'],
  InvalidAccessKeyId: ['the access key is unknown', 'check AWS_ACCESS_KEY_ID'],
  SignatureDoesNotMatch: ['the secret key is wrong', 'check AWS_SECRET_ACCESS_KEY'],
  PermanentRedirect: ['the bucket is in another region', 'set AWS_REGION'],
  RequestTimeTooSkewed: ['the clock of this machine is wrong', 'set it'],
  CredentialsProviderError: [
    'no credentials were found',
    'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  ],
  QuotaExceeded: ['its quota is used up', 'raise the quota, or lower maxArtefactTotalBytes'],
}

const away = 'check the endpoint and the network, and that the server of the bucket runs'

/**
 * What a caller gets for `error`; `what` says what did not happen. A bucket that cannot be reached,
 * or is too busy, is `storage_unavailable`. Errors that are not of the bucket stay what they are.
 */
export function toBucketError(error: unknown, bucket: string, what: string): unknown {
  if (error instanceof ServiceError) return error
  if (!(error instanceof Error)) return error
  const status = statusOf(error)
  // An answer to HEAD has no body, so its error has no name.
  const known = refusals[error.name] ?? (status === 403 ? refusals['AccessDenied'] : undefined)
  if (known !== undefined) {
    const [reason, hint] = known
    const code = error.name === 'QuotaExceeded' ? 'storage_full' : 'storage_failed'
    return new ServiceError(code, `${bucket}: ${what}: ${reason}`, { hint, data: { reason } })
  }
  if (status !== null && status < 500 && status !== 429) {
    const reason = `${error.name} (HTTP ${status})`
    return new ServiceError('storage_failed', `${bucket}: ${what}: ${reason}`, {
      hint: 'look at the log of the server of the bucket',
      data: { reason },
    })
  }
  const reason = reasonOf(error, status)
  if (reason === null) return error
  const message = `${bucket}: ${what}: ${reason}`
  return new ServiceError('storage_unavailable', message, { hint: away, data: { reason } })
}

/** Null for an error of the program. */
function reasonOf(error: Error, status: number | null): string | null {
  if (status !== null) return `${error.name} (HTTP ${status})`
  if (error.name === 'TimeoutError') return 'no answer in time'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? connectionReason(code) : null
}
