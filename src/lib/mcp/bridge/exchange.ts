import { createParser } from 'eventsource-parser'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { collectBounded } from '../../util/bytes.ts'
import type { Refused } from '../client/failure.ts'
import { Unreachable } from './bridge-errors.ts'
import type { HttpAsk, HttpLink } from './http-link.ts'
import { parseServerText, type RpcMessage } from './rpc.ts'

/** A JSON text of the server: the line for the client and its messages. */
export interface ServerText {
  readonly line: string
  readonly messages: readonly RpcMessage[]
  readonly headers: IncomingHttpHeaders
}

/** How one HTTP request ended, after all received messages were delivered. */
export type Exchanged =
  | { readonly kind: 'ended' }
  /** A message of the answer was too large; the rest was not read. */
  | { readonly kind: 'oversize' }
  | Refused
  /** No answer, or an incomplete one (`begun`). */
  | { readonly kind: 'broken'; readonly begun: boolean; readonly reason: string }
  /** The signal of the request was aborted. */
  | { readonly kind: 'aborted' }

export interface ExchangeAsk extends HttpAsk {
  /** For one message of the answer. */
  readonly maxAnswerBytes: number
  /** The answer may be idle; any other fails after `answerMs` without data. */
  readonly isStream?: boolean
}

export interface ExchangeHooks {
  /** Called when a successful answer begins. */
  readonly begun?: () => void
  /** Receives each valid text in turn. */
  readonly deliver?: (text: ServerText) => Promise<void>
}

const maxRefusalBytes = 64 * 1024
/** The longest pause while reading a refusal. */
const refusalMs = 2000

/** A message of an answer is too large. */
class TooLarge extends Error {}

/** Sends one HTTP request and delivers the messages of the answer. Rejects only as `deliver` does. */
export async function exchange(
  link: HttpLink,
  ask: ExchangeAsk,
  { begun, deliver }: ExchangeHooks = {},
): Promise<Exchanged> {
  const { maxAnswerBytes, isStream = false, answerMs, signal } = ask
  let hasBegun = false
  try {
    const answer = await link.ask(ask)
    hasBegun = true
    const { statusCode: status = 0, headers } = answer
    const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
    const isReadable = ['application/json', 'text/event-stream', ''].includes(type)
    if (status < 200 || status > 299 || (!isReadable && status === 200)) {
      return { kind: 'refused', status, headers, body: await readRefusal(answer) }
    }
    begun?.()
    const chunks = chunksOf(answer, isStream ? null : answerMs)
    const texts =
      type === 'text/event-stream'
        ? eventsOf(chunks, maxAnswerBytes)
        : wholeOf(chunks, maxAnswerBytes)
    for await (const text of texts) {
      const messages = parseServerText(text)
      if (messages === null) continue
      // Valid JSON has line breaks only between tokens.
      await deliver?.({ line: text.replaceAll(/[\r\n]/g, ' '), messages, headers })
    }
    return { kind: 'ended' }
  } catch (error) {
    if (signal.aborted) return { kind: 'aborted' }
    if (error instanceof TooLarge) return { kind: 'oversize' }
    if (!(error instanceof Unreachable)) throw error
    return { kind: 'broken', begun: hasBegun, reason: error.message }
  }
}

async function* eventsOf(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const texts: string[] = []
  const parser = createParser({
    maxBufferSize: maxBytes,
    onEvent({ event = 'message', data }) {
      // A stream may begin with an event that has only an id.
      if (event === 'message' && data !== '') texts.push(data)
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') throw new TooLarge()
    },
  })
  for await (const chunk of chunks) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    for (const text of texts.splice(0)) {
      if (Buffer.byteLength(text) > maxBytes) throw new TooLarge()
      yield text
    }
  }
}

async function* wholeOf(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string> {
  const bytes = await collectBounded(chunks, maxBytes)
  if (bytes === null) throw new TooLarge()
  if (bytes.length > 0) yield bytes.toString('utf8')
}

/** Throws `Unreachable` when the connection breaks, or after `silenceMs` without data. */
async function* chunksOf(
  answer: IncomingMessage,
  silenceMs: number | null,
): AsyncGenerator<Buffer> {
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

/** The body of a refusal; empty when it is incomplete or too long: the status is enough. */
export async function readRefusal(answer: IncomingMessage): Promise<Buffer> {
  const bytes = collectBounded(chunksOf(answer, refusalMs), maxRefusalBytes)
  return (await bytes.catch(() => null)) ?? Buffer.alloc(0)
}
