import type { ServerResponse } from 'node:http'
import { endRefused, type Problem } from '../http/problem.ts'
import { asBuffer } from '../resources/base64.ts'
import type { RelayedJson, StreamedBlob } from '../resources/producer.ts'
import { Refusal, rpcCodes } from './errors.ts'
import { errorMessage, type JsonPart, type JsonText } from './json-text.ts'
import { namesStatelessRevision } from './stateless.ts'

/** Writes a whole JSON answer. Resolves when the last byte is handed over or the client is gone. */
export function sendJson(
  res: ServerResponse,
  status: number,
  text: JsonText,
  headers?: Record<string, string>,
): void | Promise<void> {
  const length = text.byteLength
  res.writeHead(status, {
    'Content-Type': 'application/json',
    ...(Number.isNaN(length) ? {} : { 'Content-Length': length }),
    ...headers,
  })
  const [only] = text.parts
  if (text.parts.length === 1 && typeof only === 'string') {
    // ASCII is the same bytes in both encodings, and Latin-1 is copied instead of converted.
    res.end(only, only.length === length ? 'latin1' : 'utf8')
    return
  }
  return writeParts(res, text.parts).then(() => void res.end())
}

/** Sends the answer to a request, as the last event of the stream when progress was reported. */
export function sendAnswer(res: ServerResponse, text: JsonText): void | Promise<void> {
  if (res.destroyed) return
  if (!res.headersSent) return sendJson(res, 200, text)
  const event = ['event: message\ndata: ', ...text.parts, '\n\n']
  return writeParts(res, event).then(() => void res.end())
}

/**
 * Ends the POST of a request that its client cancelled and wants no answer to. HTTP has one all the
 * same, JSON or an event stream: the stream is the one that can stay empty.
 */
export function sendNoAnswer(res: ServerResponse): void {
  if (res.destroyed) return
  if (!res.headersSent) res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.end()
}

/** Answers a request that is refused before a message of it was read. */
export function refuseUnread(res: ServerResponse, { status, detail }: Problem): void {
  sendRefusal(res, new Refusal(status, detail))
}

/**
 * Answers a request that is not served. A body still on its way ends the connection, once the
 * client had time to read the answer. The id of the request is unknown: JSON-RPC then wants null.
 * Without a code no message was read, and revision 2026-07-28 wants no id then, and no code from
 * −32000 to −32019 ("basic").
 */
export function sendRefusal(
  res: ServerResponse,
  { status, message, details: { code, headers } }: Refusal,
): void {
  const isStateless = code === undefined && namesStatelessRevision(res.req.headers)
  const ofStatus = status < 500 ? rpcCodes.invalidRequest : rpcCodes.internalError
  const error = { code: code ?? (isStateless ? ofStatus : rpcCodes.refused), message }
  const { parts } = errorMessage(isStateless ? undefined : null, error)
  endRefused(res, status, { 'Content-Type': 'application/json', ...headers }, parts.join(''))
}

/**
 * Writes part after part. What is in memory already goes out as one gathered write; a streamed
 * blob waits whenever the client is slower. One that turns out damaged cuts the connection: the
 * announced length is then never reached, so no client takes it for whole.
 */
export async function writeParts(res: ServerResponse, parts: readonly JsonPart[]): Promise<void> {
  for (const part of parts) {
    if (typeof part === 'string' || part instanceof Uint8Array) res.write(part)
    else await writeStreamed(res, part)
    if (res.destroyed) return
  }
}

/** Resolves when the client has taken what was written so far, or is gone. */
export async function drained(res: ServerResponse): Promise<void> {
  if (!res.writableNeedDrain || res.destroyed) return
  const { promise, resolve } = Promise.withResolvers<void>()
  res.once('drain', resolve).once('close', resolve)
  await promise
  res.off('drain', resolve).off('close', resolve)
}

async function writeStreamed(res: ServerResponse, part: StreamedBlob | RelayedJson): Promise<void> {
  const bytes = part.open(() => res.destroy())
  for await (const piece of 'size' in part ? base64(bytes) : bytes) {
    if (res.destroyed) return
    if (typeof piece === 'string') res.write(piece, 'latin1')
    else res.write(piece)
    await drained(res)
  }
}

/** Bytes encoded at a time: a multiple of 3, small enough that its text is short-lived. */
const encodeBytes = 48 * 1024

/**
 * Base64 of the concatenated chunks: the bytes left over after each three go with the next chunk.
 */
async function* base64(chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  let rest = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? asBuffer(chunk) : Buffer.concat([rest, chunk])
    const whole = bytes.length - (bytes.length % 3)
    for (let at = 0; at < whole; at += encodeBytes) {
      yield bytes.toString('base64', at, Math.min(at + encodeBytes, whole))
    }
    rest = Buffer.from(bytes.subarray(whole))
  }
  if (rest.length > 0) yield rest.toString('base64')
}
