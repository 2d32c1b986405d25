import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Logger } from '../../util/logger.ts'
import type { HttpAsk, HttpLink } from './http-link.ts'
import { onOneLine, parseServerText, type ServerMessage } from './server-message.ts'
import { Unreachable } from './trouble.ts'
import type { Timer } from '../../util/time.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { BridgeLimits } from './limits.ts'
import { type SseEvent, SseParser } from './sse-parser.ts'

/** One text of the server: what the client is given, and the message or batch it holds. */
export interface ServerText {
  readonly line: Buffer
  readonly messages: readonly ServerMessage[]
  readonly headers: IncomingHttpHeaders
}

/** How one HTTP request ended. Messages that came have been delivered before. */
export type Exchanged =
  | { readonly kind: 'ended'; readonly retryMs: number | null }
  /** Something of the answer is too large to be passed on. */
  | { readonly kind: 'oversize' }
  | Refused
  /** No answer, or none that came to its end. */
  | { readonly kind: 'broken'; readonly begun: boolean; readonly reason: string }
  /** By our own signal. */
  | { readonly kind: 'aborted' }

export interface Refused {
  readonly kind: 'refused'
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Its beginning. */
  readonly body: Buffer
}

interface ExchangeParts extends ReadAnswerParts {
  readonly link: HttpLink
  readonly log: Logger
}

interface ExchangeHooks {
  /** The answer begins and is no refusal. */
  readonly begun?: (() => void) | undefined
  /** The next text is read when this has resolved. False: enough, the rest is not read. */
  readonly deliver: (text: ServerText) => Promise<boolean>
}

const maxRefusalBytes = 64 * 1024
/** Nothing of it arrives for so long. */
const refusalMs = 2000
const maxRetryMs = 60_000

/** One HTTP request with all that comes back for it. Never rejects. */
export async function exchange(
  parts: ExchangeParts,
  ask: HttpAsk,
  hooks: ExchangeHooks,
): Promise<Exchanged> {
  let begun = false
  try {
    const answer = await parts.link.ask(ask)
    begun = true
    const { statusCode: status = 0, headers } = answer
    const type = mediaType(answer)
    const readable = type === 'application/json' || type === 'text/event-stream' || type === ''
    if (status < 200 || status > 299 || (!readable && status === 200)) {
      return { kind: 'refused', status, headers, body: await readStart(answer) }
    }
    hooks.begun?.()
    return await deliverAll(parts, answer, hooks)
  } catch (error) {
    if (ask.signal.aborted) return { kind: 'aborted' }
    if (!(error instanceof Unreachable)) throw error
    return { kind: 'broken', begun, reason: error.message }
  }
}

async function deliverAll(
  parts: ExchangeParts,
  answer: IncomingMessage,
  { deliver }: ExchangeHooks,
): Promise<Exchanged> {
  let retryMs: number | null = null
  let oversize = false
  for await (const part of readAnswer(answer, parts)) {
    if (part.kind === 'retry') retryMs = Math.min(part.delayMs, maxRetryMs)
    if (part.kind === 'oversize') {
      parts.log.warn({}, 'a message of the server is too large and was left out')
      oversize = true
    }
    if (part.kind !== 'message') continue
    const messages = parseServerText(part.data)
    if (messages === null) {
      // What is no message must not get to the client, whatever the server makes of itself.
      parts.log.warn({}, 'the server sent what is no JSON-RPC message; it was left out')
      continue
    }
    const line = onOneLine(part.data)
    if (!(await deliver({ line, messages, headers: answer.headers }))) break
  }
  return oversize ? { kind: 'oversize' } : { kind: 'ended', retryMs }
}

/** What cannot be read of a refusal is not missed: its status says enough. */
async function readStart(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  answer.setTimeout(refusalMs, () => answer.destroy())
  try {
    for await (const chunk of answer) {
      chunks.push(chunk as Buffer)
      bytes += (chunk as Buffer).length
      if (bytes >= maxRefusalBytes) break
    }
  } catch {
    // Cut off: what came is used.
  }
  return Buffer.concat(chunks).subarray(0, maxRefusalBytes)
}

interface ReadAnswerParts {
  readonly limits: Pick<BridgeLimits, 'maxAnswerBytes'>
  readonly held: HeldBytes
  readonly timer: Timer
  /** Nothing arrives for so long: the answer is given up. Null for a stream that may be quiet. */
  readonly silenceMs: number | null
}

/**
 * The texts of an answer, each when it is complete; nothing further is read until the next is asked
 * for. Throws `Unreachable` when the answer is cut off.
 */
async function* readAnswer(
  answer: IncomingMessage,
  parts: ReadAnswerParts,
): AsyncGenerator<SseEvent> {
  const type = mediaType(answer)
  if (type === 'text/event-stream') yield* readEvents(answer, parts)
  else yield* readWhole(answer, parts)
}

function mediaType({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

async function* readEvents(
  answer: IncomingMessage,
  parts: ReadAnswerParts,
): AsyncGenerator<SseEvent> {
  const parser = new SseParser(parts.limits.maxAnswerBytes)
  const share = parts.held.share()
  try {
    for await (const chunk of chunksOf(answer, parts)) {
      for (const event of parser.push(chunk)) {
        // Beside what is kept of the next: this one, until the client has room for it.
        if (event.kind === 'message' && !share.set(parser.held + event.data.length)) {
          yield { kind: 'oversize' }
        } else yield event
      }
      if (!share.set(parser.held)) parser.dropEvent()
    }
  } finally {
    share.set(0)
  }
}

async function* readWhole(
  answer: IncomingMessage,
  parts: ReadAnswerParts,
): AsyncGenerator<SseEvent> {
  const chunks: Buffer[] = []
  let bytes = 0
  const share = parts.held.share()
  try {
    for await (const chunk of chunksOf(answer, parts)) {
      bytes += chunk.length
      if (bytes > parts.limits.maxAnswerBytes || !share.set(bytes)) {
        yield { kind: 'oversize' }
        return
      }
      chunks.push(chunk)
    }
    if (bytes > 0) yield { kind: 'message', data: Buffer.concat(chunks) }
  } finally {
    share.set(0)
  }
}

async function* chunksOf(
  answer: IncomingMessage,
  { silenceMs, timer }: ReadAnswerParts,
): AsyncGenerator<Buffer> {
  const chunks = answer[Symbol.asyncIterator]()
  try {
    for (;;) {
      // Only while it is waited for: a client that reads slowly is no silence of the server.
      const cancel =
        silenceMs === null
          ? () => {}
          : timer.after(silenceMs, () => answer.destroy(new Unreachable('it stopped answering')))
      const next = await chunks.next().finally(cancel)
      if (next.done === true) return
      yield next.value as Buffer
    }
  } catch (error) {
    if (error instanceof Unreachable) throw error
    throw new Unreachable('the connection was cut', { cause: error })
  } finally {
    answer.destroy()
  }
}
