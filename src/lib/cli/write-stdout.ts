import { write } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { errnoOf, isDiskFull, ServiceError } from '../util/errors.ts'

const writeFd = promisify(write)
/** The delay before writing to a full non-blocking pipe again. */
const retryMs = 20

/**
 * Settles when all bytes are written. Throws `storage_failed` or `storage_full` when stdout cannot
 * be written. A closed pipe is not a failure.
 */
export async function writeStdout(content: string | Uint8Array, fd = 1): Promise<void> {
  try {
    await writeAll(content, fd)
  } catch (error) {
    if (!isClosedPipe(error)) throw cannotWriteStdout(error)
  }
}

/** Like `writeStdout`, but fails for a closed pipe: for output that is shown only once. */
export async function writeStdoutOrFail(content: string): Promise<void> {
  await writeAll(content, 1).catch(error => {
    throw cannotWriteStdout(error)
  })
}

/** The error of every command whose output cannot be written. */
export function cannotWriteStdout(error: unknown): ServiceError {
  const code = errnoOf(error) ?? 'unknown error'
  const isFull = isDiskFull(error)
  return new ServiceError(
    isFull ? 'storage_full' : 'storage_failed',
    `cannot write to stdout (${code})`,
    { cause: error },
  )
}

export function isClosedPipe(error: unknown): boolean {
  const code = errnoOf(error)
  return code === 'EPIPE' || code === 'EOF'
}

async function writeAll(content: string | Uint8Array, fd: number): Promise<void> {
  // A program that runs commands within itself may have replaced the stream.
  if (fd === 1 && process.stdout.fd !== 1) return writeStream(process.stdout, content)
  let rest: Uint8Array = Buffer.from(content)
  while (rest.length > 0) {
    try {
      const { bytesWritten } = await writeFd(fd, rest)
      rest = rest.subarray(bytesWritten)
    } catch (error) {
      if (errnoOf(error) !== 'EAGAIN') throw error
      await setTimeout(retryMs)
    }
  }
}

function writeStream(stream: NodeJS.WritableStream, content: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(content, error => (error ? reject(error) : resolve()))
  })
}
