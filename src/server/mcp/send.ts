import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { endAfterBody, isBodyPending } from '../http/refused-body.ts'
import type { StreamedBlob } from '../resources/producer.ts'
import type { JsonPart, JsonText } from './json-text.ts'

/** Writes a whole JSON answer. Resolves when the last byte is handed over or the client is gone. */
export function sendJson(
  res: ServerResponse,
  status: number,
  text: JsonText,
  headers: Readonly<Record<string, string>> = {},
): void | Promise<void> {
  res.writeHead(status, {
    ...headers,
    'Content-Type': 'application/json',
    'Content-Length': text.byteLength,
  })
  const [only] = text.parts
  if (text.parts.length === 1 && typeof only === 'string') {
    res.end(only)
    return
  }
  return writeParts(res, text.parts).then(() => void res.end())
}

/**
 * Answers a request that is not served. A body still on its way ends the connection, once the
 * client had `drainMs` to read the answer.
 */
export function sendRefusal(
  res: ServerResponse,
  status: number,
  text: JsonText,
  headers: Readonly<Record<string, string>>,
  drainMs: number,
): void | Promise<void> {
  if (!isBodyPending(res.req)) return sendJson(res, status, text, headers)
  const body = Buffer.from(text.parts.join(''))
  res.writeHead(status, {
    ...headers,
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    Connection: 'close',
  })
  endAfterBody(res, body, drainMs)
}

/**
 * Writes part after part, waiting whenever the client is slower. A blob that turns out damaged
 * cuts the connection: the announced length is then never reached, so no client takes it for whole.
 */
export async function writeParts(res: ServerResponse, parts: readonly JsonPart[]): Promise<void> {
  res.cork()
  try {
    for (const part of parts) {
      if (typeof part === 'string' || part instanceof Uint8Array) await write(res, part)
      else await writeBlob(res, part)
    }
  } finally {
    res.uncork()
  }
}

async function writeBlob(res: ServerResponse, blob: StreamedBlob): Promise<void> {
  res.uncork()
  for await (const text of base64(blob.open())) {
    if (res.destroyed) return
    // Base64 is ASCII: one byte a character, nothing to encode.
    await write(res, text, 'latin1')
  }
}

/** Base64 of the concatenated chunks: the bytes left over after each three go with the next chunk. */
async function* base64(chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  let rest = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? asBuffer(chunk) : Buffer.concat([rest, chunk])
    const whole = bytes.length - (bytes.length % 3)
    if (whole > 0) yield bytes.toString('base64', 0, whole)
    rest = Buffer.from(bytes.subarray(whole))
  }
  if (rest.length > 0) yield rest.toString('base64')
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

async function write(
  res: ServerResponse,
  part: string | Uint8Array,
  encoding: 'utf8' | 'latin1' = 'utf8',
): Promise<void> {
  const flowing = typeof part === 'string' ? res.write(part, encoding) : res.write(part)
  if (flowing || res.destroyed) return
  const gone = new AbortController()
  const stop = () => gone.abort()
  res.once('close', stop)
  try {
    await once(res, 'drain', { signal: gone.signal })
  } catch {
    // The client closed the connection: nobody is left to write to.
  } finally {
    res.off('close', stop)
  }
}
