import { errnoOf, isDiskFull, ServiceError } from '../util/errors.ts'

/**
 * Settles when all bytes are written. Throws `storage_failed` or `storage_full` when stdout cannot
 * be written. A closed pipe is not a failure.
 */
export async function writeStdout(content: string | Uint8Array): Promise<void> {
  const error = await new Promise<unknown>(resolve => {
    process.stdout.write(content, resolve)
  })
  if (error && !isClosedPipe(error)) throw cannotWriteStdout(error)
}

/** The error of every command whose output cannot be written. */
export function cannotWriteStdout(cause: unknown): ServiceError {
  const message = `cannot write to stdout (${errnoOf(cause) ?? 'unknown error'})`
  return new ServiceError(isDiskFull(cause) ? 'storage_full' : 'storage_failed', message, { cause })
}

export function isClosedPipe(error: unknown): boolean {
  return ['EPIPE', 'EOF', 'ERR_STREAM_DESTROYED'].includes(
    String((error as NodeJS.ErrnoException).code),
  )
}
