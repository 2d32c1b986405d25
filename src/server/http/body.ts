import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../lib/util/errors.ts'

interface BodyLimits {
  maxBytes: number
  /** A body that brings no byte for this long is given up. */
  timeoutMs: number
  /** A body that is read whole must be complete after this. Default: 120,000. */
  maxMs?: number
}

/**
 * Returns the whole body. Rejects with `body_too_large` (before reading, when the declared length
 * says so), `body_timeout`, or `body_invalid` when the client went away. After a rejection the
 * request is paused; `writeProblem` answers it and ends the connection.
 */
export function readBody(
  req: IncomingMessage,
  { maxBytes, timeoutMs, maxMs = 120_000 }: BodyLimits,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const refusal = refuseDeclaredLength(req, maxBytes)
    if (refusal !== null) return reject(refusal)
    if (req.destroyed) return reject(aborted())
    const chunks: Buffer[] = []
    let received = 0
    const startedMs = performance.now()
    let isSettled = false
    let timer: NodeJS.Timeout | undefined
    // A body that came with the headers is complete by then, and costs no timer.
    setImmediate(() => {
      if (!isSettled) timer = setTimeout(() => refuse(timedOut(timeoutMs)), timeoutMs)
    })
    const settle = () => {
      isSettled = true
      clearTimeout(timer)
      // A call that waits and a stream keep their request: without listeners, not its bytes.
      req.off('data', onData).off('end', onEnd).off('close', onClose)
    }
    const refuse = (error: ServiceError) => {
      settle()
      req.pause()
      reject(error)
    }
    const onData = (chunk: Buffer) => {
      received += chunk.length
      if (received > maxBytes) return refuse(tooLarge(maxBytes))
      if (performance.now() - startedMs > maxMs) {
        const message = `the body was not complete after ${maxMs} ms`
        return refuse(new ServiceError('body_timeout', message))
      }
      timer?.refresh()
      chunks.push(chunk)
    }
    const onEnd = () => {
      settle()
      const [first] = chunks
      resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, received))
    }
    const onClose = () => refuse(aborted())
    req.on('data', onData).on('end', onEnd).on('close', onClose)
  })
}

/**
 * The body piece by piece, with the guards of `readBody`; its errors are thrown by the iteration.
 * The time a slow consumer takes is not held against the client. Leaving the loop early keeps the
 * connection, so that an answer can still be written.
 */
export async function* bodyStream(
  req: IncomingMessage,
  limits: BodyLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  const refusal = refuseDeclaredLength(req, limits.maxBytes)
  if (refusal !== null) throw refusal
  let received = 0
  const chunks: AsyncIterator<Buffer> = req.iterator({ destroyOnReturn: false })
  try {
    for (;;) {
      const late = Promise.withResolvers<never>()
      const timer = setTimeout(() => late.reject(timedOut(limits.timeoutMs)), limits.timeoutMs)
      const next = chunks.next().catch(() => Promise.reject(aborted()))
      const chunk = await Promise.race([next, late.promise]).finally(() => clearTimeout(timer))
      if (chunk.done === true) return
      received += chunk.value.length
      if (received > limits.maxBytes) throw tooLarge(limits.maxBytes)
      yield chunk.value
    }
  } finally {
    void chunks.return?.()
  }
}

/** The text of a body. Throws `body_invalid` for anything but UTF-8; a byte order mark is dropped. */
export function bodyText(body: Buffer): string {
  if (!isUtf8(body)) throw new ServiceError('body_invalid', 'the body is not valid UTF-8')
  const marked = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
  return body.toString('utf8', marked ? 3 : 0)
}

function refuseDeclaredLength(req: IncomingMessage, maxBytes: number): ServiceError | null {
  // The HTTP parser has refused anything but digits.
  return Number(req.headers['content-length'] ?? 0) > maxBytes ? tooLarge(maxBytes) : null
}

function tooLarge(maxBytes: number): ServiceError {
  const message = `the body is larger than ${maxBytes} bytes`
  return new ServiceError('body_too_large', message, { data: { max_bytes: maxBytes } })
}

function timedOut(timeoutMs: number): ServiceError {
  return new ServiceError('body_timeout', `no byte of the body arrived for ${timeoutMs} ms`)
}

function aborted(): ServiceError {
  return new ServiceError('body_invalid', 'the client went away before the body was complete')
}
