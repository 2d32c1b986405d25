import { createParser } from 'eventsource-parser'
import type { IncomingHttpHeaders } from 'node:http'
import type { Logger } from '../../util/logger.ts'
import { Unreachable } from './bridge-errors.ts'
import type { HttpAnswer, HttpAsk, HttpAsker } from './http-link.ts'
import { parseServerText, type RpcMessage } from './rpc.ts'

/** A JSON text of the server: the line for the client and its messages. */
export interface ServerText {
  readonly line: string
  readonly messages: readonly RpcMessage[]
  readonly headers: IncomingHttpHeaders
}

/** How one HTTP request ended, after all received messages were delivered. */
export type Exchanged =
  | { readonly kind: 'ended'; readonly retryMs: number }
  /** A message of the answer was too large; the rest was not read. */
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
  /** The first bytes, up to a limit. */
  readonly body: Buffer
}

export interface ExchangeParts {
  readonly link: HttpAsker
  /** For one message. */
  readonly maxAnswerBytes: number
  /** The answer fails after this time without data. Null for a stream that may be idle. */
  readonly silenceMs: number | null
  readonly log: Logger
}

export interface ExchangeHooks {
  /** Called when a successful answer begins. */
  readonly begun?: () => void
  /** Receives each text in turn. Resolves with false to skip the rest. */
  readonly deliver?: (text: ServerText) => Promise<boolean>
}

const maxRefusalBytes = 64 * 1024
/** The longest pause while reading a refusal. */
const refusalMs = 2000
/** The longest reconnection time that a server can ask for. */
const maxRetryMs = 60_000

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
      return await readRefusal(answer)
    }
    hooks.begun?.()
    return await deliverAll(parts, answer, hooks)
  } catch (error) {
    if (ask.signal.aborted) return { kind: 'aborted' }
    if (!(error instanceof Unreachable)) throw error
    return { kind: 'broken', begun, reason: error.message }
  }
}

function mediaType({ headers }: HttpAnswer): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

async function deliverAll(
  { maxAnswerBytes, silenceMs, log }: ExchangeParts,
  answer: HttpAnswer,
  { deliver }: ExchangeHooks,
): Promise<Exchanged> {
  const { headers } = answer
  const isStream = mediaType(answer) === 'text/event-stream'
  const decoder = new TextDecoder()
  const texts: string[] = []
  let whole = ''
  let retryMs = 0
  let isOversize = false
  const events = createParser({
    maxBufferSize: maxAnswerBytes,
    onEvent({ event = 'message', data }) {
      // A stream may begin with an event that has only an id.
      if (event === 'message' && data !== '') texts.push(data)
    },
    onRetry: requestedMs => (retryMs = Math.min(requestedMs, maxRetryMs)),
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') isOversize = true
    },
  })
  /** False when the rest of the answer is to be skipped. */
  const deliverText = async (text: string): Promise<boolean> => {
    if (Buffer.byteLength(text) > maxAnswerBytes) {
      isOversize = true
      return false
    }
    const messages = parseServerText(text)
    if (messages === null) log.warn({}, 'dropped a message of the server: invalid JSON-RPC')
    if (messages === null || deliver === undefined) return true
    return deliver({ line: onOneLine(text), messages, headers })
  }
  const end = (): Exchanged => {
    if (isOversize) log.warn({}, 'dropped a message of the server: too large')
    return isOversize ? { kind: 'oversize' } : { kind: 'ended', retryMs }
  }
  for await (const chunk of chunksOf(answer, silenceMs)) {
    const text = decoder.decode(chunk, { stream: true })
    if (isStream) events.feed(text)
    else whole += text
    if (whole.length > maxAnswerBytes) isOversize = true
    for (const event of texts.splice(0)) if (!(await deliverText(event))) return end()
    if (isOversize) return end()
  }
  if (whole !== '') await deliverText(whole)
  return end()
}

/** Throws `Unreachable` when the connection breaks, or after `silenceMs` without data. */
async function* chunksOf(answer: HttpAnswer, silenceMs: number | null): AsyncGenerator<Buffer> {
  const silent = (): unknown => answer.destroy(new Unreachable('it stopped answering'))
  const silence = silenceMs === null ? undefined : setTimeout(silent, silenceMs).unref()
  try {
    for await (const chunk of answer) {
      silence?.refresh()
      yield chunk as Buffer
    }
  } catch (error) {
    if (error instanceof Unreachable) throw error
    throw new Unreachable('the connection was cut', { cause: error })
  } finally {
    clearTimeout(silence)
  }
}

/** Valid JSON has line breaks only between tokens. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ')
}

/** Reads the start of a refusal. */
export async function readRefusal(answer: HttpAnswer): Promise<Refused> {
  const { statusCode: status = 0, headers } = answer
  return { kind: 'refused', status, headers, body: await readStart(answer) }
}

/** Reads the start of a refusal; an incomplete one is enough beside the status. */
export async function readStart(answer: HttpAnswer): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of chunksOf(answer, refusalMs)) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= maxRefusalBytes) break
    }
  } catch {
    // Use what was received.
  }
  return Buffer.concat(chunks).subarray(0, maxRefusalBytes)
}
