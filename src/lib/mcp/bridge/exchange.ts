import type { IncomingHttpHeaders } from 'node:http'
import type { Logger } from '../../util/logger.ts'
import type { HttpAnswer, HttpAsk, HttpAsker } from './http-link.ts'
import { onOneLine, parseServerText, type ServerMessage } from './server-message.ts'
import { Unreachable } from './bridge-errors.ts'
import { parseJson } from '../../util/json.ts'
import { hideSecrets, mayBeWord, type Secret } from '../../util/secret.ts'
import type { Timer } from '../../util/time.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { BridgeLimits } from './limits.ts'
import { type SseEvent, SseParser } from './sse-parser.ts'

/** A JSON text of the server: the line for the client and its messages. */
export interface ServerText {
  readonly line: Buffer
  readonly messages: readonly ServerMessage[]
  readonly headers: IncomingHttpHeaders
}

/** How one HTTP request ended, after all received messages were delivered. */
export type Exchanged =
  | { readonly kind: 'ended'; readonly retryMs: number | null }
  /** A message of the answer was too large. */
  | { readonly kind: 'oversize' }
  | Refused
  /** No answer, or an incomplete one (`begun`). */
  | { readonly kind: 'broken'; readonly begun: boolean; readonly reason: string }
  /** The signal of the request was aborted. */
  | { readonly kind: 'aborted' }

export interface Refused {
  readonly kind: 'refused'
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The first bytes, up to a limit, without the secret of the request. */
  readonly body: Buffer
}

export interface ExchangeParts extends ReadAnswerParts {
  readonly link: HttpAsker
  /**
   * Brackets, commas and colons of one message, also in its texts: nothing else runs while many of
   * them are parsed. Default: no bound.
   */
  readonly maxTokens?: number
  readonly log: Logger
}

interface ExchangeHooks {
  /** Called when a successful answer begins. */
  readonly begun?: () => void
  /** Receives each text in turn. Resolves with false to skip the rest. */
  readonly deliver: (text: ServerText) => Promise<boolean>
}

/** By byte: 1 for what separates the values of a JSON text. */
const isToken = Uint8Array.from(
  { length: 256 },
  (_, byte) => +'[{,:'.includes(String.fromCharCode(byte)),
)
const maxRefusalBytes = 64 * 1024
/** The longest pause while reading a refusal. */
const refusalMs = 2000
const maxRetryMs = 60_000
/** An answer that is nested deeper cannot be searched for a secret, and is dropped. */
const maxDepth = 200

/** Sends one HTTP request and delivers the messages of the answer. Never rejects. */
export async function exchange(
  parts: ExchangeParts,
  ask: HttpAsk,
  hooks: ExchangeHooks,
): Promise<Exchanged> {
  let begun = false
  try {
    const answer = await parts.link.ask(ask)
    begun = true
    const { statusCode: status = 0 } = answer
    const type = mediaType(answer)
    const readable = type === 'application/json' || type === 'text/event-stream' || type === ''
    if (status < 200 || status > 299 || (!readable && status === 200)) {
      return await readRefusal(answer, parts.link.secret)
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
  answer: HttpAnswer,
  { deliver }: ExchangeHooks,
): Promise<Exchanged> {
  let retryMs: number | null = null
  let oversize = false
  for await (const part of readAnswer(answer, parts)) {
    if (part.kind === 'retry') retryMs = Math.min(part.delayMs, maxRetryMs)
    if (part.kind === 'oversize' || isComplex(part, parts)) {
      parts.log.warn({}, 'dropped a message of the server: too large')
      oversize = true
      continue
    }
    if (part.kind !== 'message') continue
    const data = shownMessage(part.data, parts.link.secret)
    const messages = parseServerText(data)
    if (messages === null) {
      parts.log.warn({}, 'dropped a message of the server: invalid JSON-RPC')
      continue
    }
    const line = onOneLine(data)
    if (!(await deliver({ line, messages, headers: answer.headers }))) break
  }
  return oversize ? { kind: 'oversize' } : { kind: 'ended', retryMs }
}

function isComplex(part: SseEvent, { maxTokens }: ExchangeParts): boolean {
  if (part.kind !== 'message' || maxTokens === undefined) return false
  let tokens = 0
  for (const byte of part.data) if (isToken[byte] === 1) tokens++
  return tokens > maxTokens
}

function shownMessage(data: Buffer, secret: Secret | null | undefined): Buffer {
  if (!secret || mayBeWord(secret)) return data
  // Servers escape letters and digits never, and other characters as they like: `\/`, `\u002B`.
  const parts = secret.reveal().split(/[^\w.-]+/)
  if (!parts.every(part => data.includes(part))) return data
  const shown = withoutSecret(data, secret)
  return shown.length === 0 || shown.includes('[secret]') ? shown : data
}

function withoutSecret(data: Buffer, secret: Secret): Buffer {
  const parsed = parseJson(data.toString('utf8'), maxDepth)
  const shown = parsed.ok ? hideSecrets(parsed.value, [secret]) : undefined
  return Buffer.from(JSON.stringify(shown) ?? '')
}

/** Reads the start of a refusal, and hides the secret of its request. */
export async function readRefusal(
  answer: HttpAnswer,
  secret: Secret | null | undefined,
): Promise<Refused> {
  const { statusCode: status = 0, headers: received } = answer
  const start = await readStart(answer)
  if (!secret) return { kind: 'refused', status, headers: received, body: start }
  const headers = (hideSecrets(received, [secret]) ?? {}) as IncomingHttpHeaders
  return { kind: 'refused', status, headers, body: withoutSecret(start, secret) }
}

/** Reads the start of a refusal; an incomplete one is enough beside the status. */
export async function readStart(answer: HttpAnswer): Promise<Buffer> {
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
    // Use what was received.
  }
  return Buffer.concat(chunks).subarray(0, maxRefusalBytes)
}

interface ReadAnswerParts {
  readonly limits: Pick<BridgeLimits, 'maxAnswerBytes'>
  readonly budget: ByteBudget
  readonly timer: Timer
  /** The answer fails after this time without data. Null for a stream that may be idle. */
  readonly silenceMs: number | null
}

/**
 * Yields each text of an answer once complete, and reads on only when the next one is requested.
 * Throws `Unreachable` when the connection breaks.
 */
function readAnswer(answer: HttpAnswer, parts: ReadAnswerParts): AsyncGenerator<SseEvent> {
  const isStream = mediaType(answer) === 'text/event-stream'
  return isStream ? readEvents(answer, parts) : readWhole(answer, parts)
}

function mediaType({ headers }: HttpAnswer): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

async function* readEvents(answer: HttpAnswer, parts: ReadAnswerParts): AsyncGenerator<SseEvent> {
  const parser = new SseParser(parts.limits.maxAnswerBytes)
  const share = parts.budget.share()
  try {
    for await (const chunk of chunksOf(answer, parts)) {
      for (const event of parser.push(chunk)) {
        // This event is held until the client reads it, beside the start of the next one.
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

async function* readWhole(answer: HttpAnswer, parts: ReadAnswerParts): AsyncGenerator<SseEvent> {
  const chunks: Buffer[] = []
  let bytes = 0
  const share = parts.budget.share()
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
  answer: HttpAnswer,
  { silenceMs, timer }: ReadAnswerParts,
): AsyncGenerator<Buffer> {
  const chunks = answer[Symbol.asyncIterator]()
  try {
    for (;;) {
      // The timer runs only while reading: a slow client is not a silent server.
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
