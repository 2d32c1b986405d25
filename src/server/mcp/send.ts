import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { asBuffer, encodeBytes } from '../resources/base64.ts'
import type { RequestId } from '../../lib/mcp/json-rpc.ts'
import { awaitTurn } from '../http/open-answers.ts'
import { endRefused } from '../http/refused-body.ts'
import type { RelayedJson, StreamedBlob } from '../resources/producer.ts'
import type { UnsentAnswerBudget } from './unsent-answer-budget.ts'
import type { JsonPart, JsonText } from './json-text.ts'
import type { Writable } from 'node:stream'

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

/** Sends the answer to a request; what is large of it counts as held until it is out. */
export function sendAnswer(
  res: ServerResponse,
  held: UnsentAnswerBudget,
  id: RequestId,
  answer: JsonText,
): void | Promise<void> {
  // The client left while its answer was made: `close` does not fire again, so a budget reserved
  // now would never be released.
  if (res.destroyed) return
  const { text, release } = held.admit(id, answer)
  if (release !== null) res.once('close', release)
  // Progress was reported: the answer is the last event of that stream.
  if (res.headersSent) {
    const event = ['event: message\ndata: ', ...text.parts, '\n\n']
    return writeParts(res, event).then(() => void res.end())
  }
  return sendJson(res, 200, text)
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

/**
 * Answers a request that is not served. A body still on its way ends the connection, once the
 * client had `drainMs` to read the answer.
 */
export function sendRefusal(
  res: ServerResponse,
  status: number,
  text: JsonText,
  headers: Record<string, string>,
  drainMs: number,
): void {
  const typed = { 'Content-Type': 'application/json', ...headers }
  endRefused(res, status, typed, Buffer.from(text.parts.join('')), drainMs)
}

/**
 * Writes part after part. What is in memory already goes out as one gathered write; a streamed
 * blob waits whenever the client is slower. One that turns out damaged cuts the connection: the
 * announced length is then never reached, so no client takes it for whole.
 */
export async function writeParts(res: ServerResponse, parts: readonly JsonPart[]): Promise<void> {
  for (const part of parts) {
    if (typeof part === 'string' || part instanceof Uint8Array) res.write(part)
    else if ('size' in part) await writeBlob(res, part)
    else await writeRelayed(res, part)
    if (res.destroyed) return
  }
}

/** Resolves when the client has taken what was written so far, or is gone. */
export async function drained(res: ServerResponse): Promise<void> {
  if (!res.writableNeedDrain || res.destroyed) return
  const gone = new AbortController()
  const stop = () => gone.abort()
  res.once('close', stop)
  try {
    await once(res, 'drain', { signal: gone.signal })
  } catch {
    // The client closed the connection: there is no one to write to.
  } finally {
    res.off('close', stop)
  }
}

async function writeRelayed(res: ServerResponse, json: RelayedJson): Promise<void> {
  if (!(await awaitTurn(res))) return
  for await (const bytes of json.open(() => res.destroy())) {
    if (res.destroyed) return
    res.write(bytes)
    await drained(res)
  }
}

async function writeBlob(res: ServerResponse, blob: StreamedBlob): Promise<void> {
  if (!(await awaitTurn(res))) return
  for await (const text of base64(blob.open(() => res.destroy()))) {
    if (res.destroyed) return
    res.write(text, 'latin1')
    await drained(res)
  }
}

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

/**
 * Gathers the writes of one turn of the event loop. A single update goes straight to the socket; in
 * a burst, all that follow the first one are held until the turn ends and leave in one write. The
 * bookkeeping is one callback per turn, however many streams there are.
 */
export class GatheredWrites {
  #turn = 0
  #scheduled = false
  readonly #corked: Writable[] = []

  /** Number of the current turn; a stream remembers the one it last wrote in. */
  get turn(): number {
    if (!this.#scheduled) {
      this.#scheduled = true
      process.nextTick(() => this.#end())
    }
    return this.#turn
  }

  /** Holds back what is written to `out` from now on, until the turn ends. */
  hold(out: Writable): void {
    if (out.writableCorked > 0) return
    out.cork()
    this.#corked.push(out)
  }

  #end(): void {
    this.#scheduled = false
    this.#turn++
    for (const out of this.#corked.splice(0)) out.uncork()
  }
}
