import { errnoOf, isDiskFull, ServiceError } from '../../lib/util/errors.ts'
import { SourceFailed } from './body-source.ts'

/**
 * What an operation on the store throws for `error`: full and failing disks get a code of their
 * own, everything else (a refused option, an aborted upload) stays what it is.
 */
export function toStorageError(error: unknown, what: string): unknown {
  if (error instanceof SourceFailed) return error.cause
  const errno = errnoOf(error)
  if (errno === null || error instanceof ServiceError) return error
  if (isDiskFull(error)) {
    const hint = 'free space on the disk of the artefact folder, or lower maxArtefactTotalBytes'
    return new ServiceError('storage_full', `${what}: the disk is full`, { cause: error, hint })
  }
  const hint = 'check that the artefact folder exists, is writable and its disk is healthy'
  return new ServiceError('storage_failed', `${what}: ${errno}`, { cause: error, hint })
}

/** Runs the action; errors of the file system become `ServiceError`. */
export async function guard<Value>(what: string, action: () => Promise<Value>): Promise<Value> {
  try {
    return await action()
  } catch (error) {
    throw toStorageError(error, what)
  }
}
