import type { IncomingMessage } from 'node:http'
import { ServiceError } from '../../util/errors.ts'
import { shownUrl } from '../bridge/context.ts'
import { readRefusal } from '../bridge/exchange.ts'
import { Unreachable } from '../bridge/bridge-errors.ts'
import type { ClientContext, McpSession } from './context.ts'
import { failureOf } from './failure.ts'
import { artefactUri, isArtefactHex } from '../uris.ts'
import { completeTemplate } from './resources.ts'

/** A running download of an artefact. */
export interface Download {
  readonly total: number | null
  /** The file name sent by the server; untrusted. */
  readonly name: string | null
  readonly mimeType: string | null
  readonly chunks: AsyncIterable<Buffer>
  /** Stops the download. */
  cancel(): void
}

interface DownloadWish {
  /** The MCP endpoint; artefact URLs are relative to it. */
  readonly url: URL
  readonly hex: string
  readonly signal: AbortSignal
}

/** Starts a download. Rejects with `ServiceError`. */
export async function openDownload(context: ClientContext, wish: DownloadWish): Promise<Download> {
  const { hex, signal } = wish
  const url = new URL(`artefacts/sha256/${hex}`, wish.url)
  const answer = await answerOf(context, url, signal)
  const { statusCode: status = 0, headers } = answer
  if (status === 200) {
    const length = Number(headers['content-length'] ?? NaN)
    return {
      total: Number.isSafeInteger(length) ? length : null,
      name: fileNameOf(headers['content-disposition']),
      mimeType: headers['content-type'] ?? null,
      chunks: chunksOf(answer, context, signal),
      cancel: () => void answer.destroy(),
    }
  }
  if (status === 404) {
    answer.destroy()
    throw notStored(hex)
  }
  const { keyed, limits } = context
  const refused = await readRefusal(answer)
  const { maxAnswerBytes } = limits
  throw failureOf(refused, { url, method: 'GET', keyed, maxAnswerBytes })
}

async function answerOf(
  context: ClientContext,
  url: URL,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { answerMs } = context.limits
  try {
    return await context.link.ask({
      url,
      method: 'GET',
      headers: {},
      repeatable: true,
      answerMs,
      signal,
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

function broken(error: unknown, url: URL | null, signal: AbortSignal): unknown {
  if (signal.aborted) return new ServiceError('cancelled', 'cancelled')
  if (!(error instanceof Unreachable)) return error
  const message =
    url === null
      ? `the download is incomplete: ${error.message}`
      : `${shownUrl(url)} cannot be reached: ${error.message}`
  const hint = url === null ? 'run the command again' : undefined
  return new ServiceError('network_failed', message, { cause: error, hint })
}

/** RFC 6266: prefers the encoded name to the plain one. */
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

/** The shortest accepted prefix of a hash. */
const minChars = 4

/** The hash, or its prefix, in `artefact://sha256/<hex>`, `sha256:<hex>` or `<hex>`. */
export function parseArtefactWord(word: string): string | null {
  const digits = word.replace(/^artefact:\/\/sha256\/|^sha256:/, '')
  return digits.length >= minChars && /^[0-9a-f]{1,64}$/.test(digits) ? digits : null
}

/** Resolves the argument of the user to a full hash. Rejects with `ServiceError`. */
export async function resolveArtefact(
  word: string,
  session: () => Promise<McpSession>,
  signal: AbortSignal,
): Promise<string> {
  const digits = parseArtefactWord(word)
  if (digits === null) {
    throw new ServiceError('usage_invalid', `invalid artefact "${word}"`, {
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
    hint: `use more characters: ${some.join(', ')}${found.length > some.length ? ', …' : ''}`,
  })
}

function notStored(hex: string): ServiceError {
  return new ServiceError('resource_not_found', `no artefact ${hex} is stored`, {
    hint: 'service-cli artefacts list shows them',
  })
}
