import { closeSync, constants, openSync, write as writeFd } from 'node:fs'
import type { WriteChunk } from './line-sink.ts'

/** The delay before writing to a full terminal again. */
const retryMs = 50

/**
 * Writes to stderr without ever blocking the event loop. Node writes to pipes and sockets
 * asynchronously, but to a terminal synchronously: a terminal stopped with Ctrl-S would stop the
 * server. Linux can open the same terminal again in non-blocking mode.
 */
export function stderrWriter(): WriteChunk {
  const stream = process.stderr
  // Without a listener a closed stderr would end the program.
  stream.on('error', () => {})
  const terminal = stream.isTTY && process.platform === 'linux' ? reopen(2) : null
  if (terminal === null) return (chunk, done) => void stream.write(chunk, done)
  process.once('exit', () => closeSync(terminal))
  return nonBlockingWriter(terminal)
}

/** Writes to a non-blocking descriptor; waits and retries while it is full. */
function nonBlockingWriter(fd: number): WriteChunk {
  return (chunk, done) => {
    const attempt = (rest: Buffer): void => {
      writeFd(fd, rest, (error, count) => {
        if (error?.code === 'EAGAIN') return void setTimeout(attempt, retryMs, rest).unref()
        if (error !== null) return done(error)
        if (count < rest.length) return attempt(rest.subarray(count))
        done()
      })
    }
    attempt(Buffer.from(chunk))
  }
}

function reopen(fd: number): number | null {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
  try {
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    return null
  }
}
