import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../lib/util/errors.ts'

/** A body that is read whole must be complete after this. */
export const maxBodyMs = 120_000

interface BodyLimits {
  readonly maxBytes: number
  /** A body that brings no byte for this long is given up. */
  readonly timeoutMs: number
}

interface WholeBodyLimits extends BodyLimits {
  /** A body that still brings bytes after this is given up. Default: the limit `maxBodyMs`. */
  readonly maxMs?: number
}

/**
 * Bytes of all incomplete bodies that this process holds. It lets two of the largest scenes arrive
 * at once, also where their limit is raised.
 */
const maxReceivingBytes = 128 * 1024 * 1024
/** What a piece costs beside its bytes: a body may come byte by byte. */
const pieceOverheadBytes = 128

let receivingBytes = 0

interface IncompleteBody {
  /** Peer address of the connection. */
  readonly client: string
  /** Its part of `receivingBytes`. */
  bytes: number
  refuse(error: ServiceError): void
}

/** Oldest first. A body that arrives within one turn of the event loop is never in it. */
const incomplete = new Set<IncompleteBody>()

/**
 * Refuses the oldest bodies of the client that holds the most bytes, until the others fit. So
 * connections that hold incomplete bodies cannot keep the new bodies of others out.
 */
function makeSpace(maxBytes: number): void {
  while (receivingBytes > maxBytes) {
    const bytesOf = new Map<string, number>()
    let most = ''
    for (const { client, bytes } of incomplete) {
      const held = (bytesOf.get(client) ?? 0) + bytes
      bytesOf.set(client, held)
      if (held > (bytesOf.get(most) ?? 0)) most = client
    }
    const oldest = incomplete.values().find(({ client }) => client === most)
    if (oldest === undefined) return
    oldest.refuse(overloaded())
  }
}

/**
 * Returns the whole body. Rejects with `body_too_large` (before reading, when the declared length
 * says so), `body_timeout`, `overloaded` when it had to make room for other bodies, or
 * `body_invalid` when the client went away. After a rejection the request is paused;
 * `writeProblem` answers it and ends the connection.
 */
export function readBody(req: IncomingMessage, limits: WholeBodyLimits): Promise<Buffer> {
  const { maxMs = maxBodyMs } = limits
  return new Promise((resolve, reject) => {
    const refusal = refuseDeclaredLength(req, limits.maxBytes)
    if (refusal !== null) return reject(refusal)
    if (req.destroyed) return reject(aborted())
    let first: Buffer | undefined
    let rest: Buffer[] | undefined
    let received = 0
    let holder: IncompleteBody | undefined
    let timer: NodeJS.Timeout | undefined
    let startedMs = Infinity
    let settled = false

    const count = (bytes: number) => {
      if (holder === undefined) {
        holder = { client: req.socket.remoteAddress ?? '', bytes: 0, refuse }
        incomplete.add(holder)
      }
      holder.bytes += bytes
      receivingBytes += bytes
      makeSpace(Math.max(maxReceivingBytes, 2 * limits.maxBytes))
    }
    const release = () => {
      if (holder === undefined) return
      incomplete.delete(holder)
      receivingBytes -= holder.bytes
    }
    const settle = () => {
      settled = true
      clearTimeout(timer)
      release()
      req.off('data', onData).off('end', onEnd).off('close', onClose)
    }
    const refuse = (error: ServiceError) => {
      settle()
      req.pause()
      reject(error)
    }
    const onData = (chunk: Buffer) => {
      received += chunk.length
      if (received > limits.maxBytes) return refuse(tooLarge(limits.maxBytes))
      // No timer of its own: that something comes at least every `timeoutMs` is seen to already.
      if (performance.now() - startedMs > maxMs) return refuse(tooSlow(maxMs))
      timer?.refresh()
      if (first === undefined) first = chunk
      else (rest ??= [first]).push(chunk)
      // What came in the first turn of the event loop is counted at its end.
      if (startedMs !== Infinity) count(chunk.length + pieceOverheadBytes)
    }
    const onEnd = () => {
      // A call that waits and a stream keep their request: without listeners, not its bytes.
      settle()
      resolve(rest === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(rest, received))
    }
    const onClose = () => refuse(aborted())

    req.on('data', onData).on('end', onEnd).on('close', onClose)
    // The rest of the packet is parsed after this: a body that came with it needs no timer.
    setImmediate(() => {
      if (settled) return
      startedMs = performance.now()
      timer = setTimeout(() => refuse(timedOut(limits.timeoutMs)), limits.timeoutMs)
      count(received + pieceOverheadBytes)
    })
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
  let wake: (() => void) | undefined
  const onProgress = () => wake?.()
  const events = ['readable', 'end', 'close'] as const
  for (const event of events) req.on(event, onProgress)
  req.on('error', ignore)
  try {
    for (;;) {
      const chunk: Buffer | null = req.read()
      if (chunk !== null) {
        received += chunk.length
        if (received > limits.maxBytes) throw tooLarge(limits.maxBytes)
        yield chunk
      } else if (req.readableEnded) {
        return
      } else if (req.destroyed) {
        throw aborted()
      } else {
        const { promise, resolve } = Promise.withResolvers<boolean>()
        wake = () => resolve(true)
        const timer = setTimeout(() => resolve(false), limits.timeoutMs)
        const progressed = await promise
        clearTimeout(timer)
        wake = undefined
        if (!progressed) throw timedOut(limits.timeoutMs)
      }
    }
  } finally {
    for (const event of events) req.off(event, onProgress)
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

function tooSlow(maxMs: number): ServiceError {
  return new ServiceError('body_timeout', `the body was not complete after ${maxMs} ms`)
}

function overloaded(): ServiceError {
  const message = 'the server is receiving too many bodies; try again in a second'
  return new ServiceError('overloaded', message)
}

function aborted(): ServiceError {
  return new ServiceError('body_invalid', 'the client went away before the body was complete')
}

/** An aborted request is an 'error' event, too; 'close' is the one acted upon. */
function ignore(): void {}
