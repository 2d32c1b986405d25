import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../util/errors.ts'
import { shownUrl } from '../bridge/context.ts'
import { Unreachable } from '../bridge/bridge-errors.ts'
import type { ClientContext, McpSession } from './context.ts'
import { failureOf } from './failure.ts'
import { artefactUri, isArtefactHex } from '../uris.ts'
import { completeTemplate } from './resources.ts'

/** The bytes of an artefact on their way. */
export interface Download {
  /** Where they begin: 0, although a later place was asked for, when the server starts over. */
  readonly from: number
  readonly total: number | null
  /** As the server calls the file; not to be trusted. */
  readonly name: string | null
  readonly mimeType: string | null
  readonly chunks: AsyncIterable<Buffer>
  /** Nothing of it is wanted any more. */
  cancel(): void
}

interface DownloadWish {
  /** The MCP endpoint: artefacts lie beside it. */
  readonly url: URL
  readonly hex: string
  readonly from: number
  readonly signal: AbortSignal
}

/** Rejects with `ServiceError`. */
export async function openDownload(context: ClientContext, wish: DownloadWish): Promise<Download> {
  const { hex, from, signal } = wish
  const url = new URL(`artefacts/sha256/${hex}`, wish.url)
  const range = from === 0 ? {} : { Range: `bytes=${from}-`, 'If-Range': `"${hex}"` }
  const answer = await answerOf(context, url, range, signal)
  const { statusCode: status = 0, headers } = answer
  const facts = {
    name: fileNameOf(headers['content-disposition']),
    mimeType: headers['content-type'] ?? null,
    cancel: () => void answer.destroy(),
  }
  if (status === 200 || status === 206) {
    const length = Number(headers['content-length'] ?? NaN)
    const begin = status === 206 ? beginOf(headers['content-range']) : 0
    const total = Number.isSafeInteger(length) ? begin + length : null
    return { ...facts, from: begin, total, chunks: chunksOf(answer, context, signal) }
  }
  if (status === 416 && headers['content-range'] === `bytes */${from}`) {
    answer.resume()
    return { ...facts, from, total: from, chunks: none() }
  }
  answer.destroy()
  if (status === 404) throw notStored(hex)
  if (status === 416)
    throw new ServiceError('artefact_corrupt', 'the part is longer than the whole')
  const { keyed, limits } = context
  const refused = { kind: 'refused' as const, status, headers, body: Buffer.alloc(0) }
  const { maxAnswerBytes } = limits
  throw failureOf(refused, { url, method: 'GET', keyed, maxAnswerBytes })
}

async function answerOf(
  context: ClientContext,
  url: URL,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { answerMs } = context.limits
  try {
    return await context.link.ask({
      ...{ url, method: 'GET', headers, repeatable: true, answerMs, signal },
    })
  } catch (error) {
    throw broken(error, url, signal)
  }
}

async function* chunksOf(
  answer: IncomingMessage,
  { limits }: ClientContext,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const { answerMs } = limits
  answer.setTimeout(answerMs, () => answer.destroy(new Unreachable('it stopped sending')))
  try {
    for await (const chunk of answer) yield chunk as Buffer
  } catch (error) {
    const cut = error instanceof Unreachable ? error : new Unreachable('the connection was cut')
    throw broken(cut, null, signal)
  } finally {
    answer.destroy()
  }
}

async function* none(): AsyncGenerator<Buffer> {}

function broken(error: unknown, url: URL | null, signal: AbortSignal): unknown {
  if (signal.aborted) return new ServiceError('cancelled', 'cancelled')
  if (!(error instanceof Unreachable)) return error
  const message =
    url === null
      ? `the artefact did not arrive whole: ${error.message}`
      : `${shownUrl(url)} cannot be reached: ${error.message}`
  const hint = url === null ? 'the same command goes on where it stopped' : undefined
  return new ServiceError('network_failed', message, { cause: error, hint })
}

function beginOf(range: string | undefined): number {
  return Number(/^bytes (\d{1,15})-/.exec(range ?? '')?.[1] ?? 0)
}

/** RFC 6266: the name in every script before the plain one. */
function fileNameOf(disposition: string | undefined): string | null {
  const encoded = /filename\*=UTF-8''([^;\s]+)/i.exec(disposition ?? '')?.[1]
  const plain = /filename="([^"]*)"/i.exec(disposition ?? '')?.[1] ?? null
  if (encoded === undefined) return plain
  try {
    return decodeURIComponent(encoded)
  } catch {
    return plain
  }
}

/** Fewer digits name by accident. */
const minChars = 4

/** The digits of `artefact://sha256/<hex>`, `sha256:<hex>` or `<hex>`, whole or their beginning. */
export function parseArtefactWord(word: string): string | null {
  const digits = word.replace(/^artefact:\/\/sha256\/|^sha256:/, '')
  return digits.length >= minChars && /^[0-9a-f]{1,64}$/.test(digits) ? digits : null
}

/** The artefact that a word of the user names. Rejects with `ServiceError`. */
export async function resolveArtefact(
  word: string,
  session: () => Promise<McpSession>,
  signal: AbortSignal,
): Promise<string> {
  const digits = parseArtefactWord(word)
  if (digits === null) {
    throw new ServiceError('usage_invalid', `${word} names no artefact`, {
      hint: `a URI, or at least ${minChars} leading characters of the SHA-256 in lower case`,
    })
  }
  if (digits.length === 64) return digits
  const wanted = { uri: artefactUri('{hex}'), name: 'hex', value: digits }
  const { values } = await completeTemplate(await session(), wanted, signal)
  const found = values.filter(value => isArtefactHex(value) && value.startsWith(digits))
  const [only, ...others] = found
  if (only === undefined) throw notStored(digits)
  if (others.length === 0) return only
  const some = found.slice(0, 5).map(hex => hex.slice(0, digits.length + 8))
  throw new ServiceError('usage_invalid', `several artefacts begin with ${digits}`, {
    hint: `write more of it: ${some.join(', ')}${found.length > some.length ? ', …' : ''}`,
  })
}

function notStored(hex: string): ServiceError {
  return new ServiceError('resource_not_found', `no artefact ${hex} is stored`, {
    hint: 'service-cli artefacts list shows them',
  })
}
