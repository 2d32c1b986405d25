import { write } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { errnoOf } from '../errno.ts'
import { ServiceError } from '../errors.ts'

const writeFd = promisify(write)
/** A pipe that is full and does not block is tried again after this. */
const retryMs = 20

/**
 * Settles when every byte has left. A reader that has seen enough is no failure; a full disk is,
 * and the stream of Node would end the program before it could say so.
 */
export async function writeStdout(content: string | Uint8Array, fd = 1): Promise<void> {
  let rest: Uint8Array = Buffer.from(content)
  while (rest.length > 0) {
    try {
      const { bytesWritten } = await writeFd(fd, rest)
      rest = rest.subarray(bytesWritten)
    } catch (error) {
      const code = errnoOf(error)
      if (code === 'EPIPE' || code === 'EOF') return
      if (code !== 'EAGAIN') {
        throw new ServiceError('storage_failed', `cannot write to stdout (${code})`, {
          cause: error,
        })
      }
      await setTimeout(retryMs)
    }
  }
}
