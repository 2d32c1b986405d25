import { isJsonObject, type JsonObject } from '../../util/json.ts'
import type { RequestId } from '../json-rpc.ts'
import { rpcErrorOf } from '../bridge/bridge-errors.ts'
import type { Exchanged, Refused } from '../bridge/exchange.ts'
import { askOnce, type RpcAnswer } from '../bridge/own-request.ts'
import type { ClientContext } from './context.ts'

interface Ask {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly id: RequestId
  readonly method: string
  readonly params: JsonObject
  readonly signal: AbortSignal
}

/** The outcome of one request. */
export type Answer =
  | RpcAnswer
  | Refused
  | { readonly kind: 'oversize' | 'aborted' | 'missing' }
  | { readonly kind: 'broken'; readonly reason: string }

export type Failed = Exclude<Answer, { kind: 'result' }>

/** Sends one request and waits for its answer. Never rejects. */
export async function ask(context: ClientContext, wanted: Ask): Promise<Answer> {
  const answer = await askOnce(context, { ...wanted, answerMs: context.limits.answerMs })
  return answer.kind === 'result' || answer.kind === 'error' ? answer : asAnswer(answer)
}

/** The outcome of an exchange without an answer. */
export function asAnswer(ended: Exchanged): Failed {
  switch (ended.kind) {
    case 'ended':
      return { kind: 'missing' }
    case 'broken':
      return { kind: 'broken', reason: ended.reason }
    case 'refused':
      return refusedAnswer(ended)
    case 'oversize':
    case 'aborted':
      return ended
  }
}

function refusedAnswer(refused: Refused): Failed {
  const error = refused.status === 401 ? null : rpcErrorOf(refused)
  return error === null ? refused : { kind: 'error', error }
}

/** A listed resource. Missing or invalid members are null. */
export interface Listed {
  readonly uri: string
  readonly name: string
  readonly title: string | null
  readonly mimeType: string | null
  readonly size: number | null
  /** RFC 3339, as the server wrote it. */
  readonly modified: string | null
  /** The whole entry. */
  readonly raw: JsonObject
}

/** One of the contents of a resource. */
export type Contents =
  | {
      readonly kind: 'text'
      readonly uri: string
      readonly mimeType: string | null
      readonly text: string
      readonly meta?: JsonObject
    }
  | {
      readonly kind: 'binary'
      readonly uri: string
      readonly mimeType: string | null
      readonly bytes: Buffer
    }

/** Parses the entries of a page. Skips entries without a `key`. */
export function parseListed(values: unknown, key: 'uri' | 'uriTemplate'): Listed[] {
  if (!Array.isArray(values)) return []
  return values.flatMap((value: unknown) => {
    if (!isJsonObject(value)) return []
    const uri = textOf(value[key])
    if (uri === null) return []
    const { annotations, size } = value
    return {
      uri,
      name: textOf(value.name) ?? uri,
      title: textOf(value.title),
      mimeType: textOf(value.mimeType),
      size: typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? size : null,
      modified: isJsonObject(annotations) ? textOf(annotations.lastModified) : null,
      raw: value,
    }
  })
}

/** The contents of `resources/read`; null when any of them is invalid. */
export function parseContents({ contents }: JsonObject): Contents[] | null {
  if (!Array.isArray(contents)) return null
  const parsed = contents.map(parseOne)
  return parsed.every(each => each !== null) ? parsed : null
}

function parseOne(value: unknown): Contents | null {
  if (!isJsonObject(value)) return null
  const { uri, text, blob, _meta } = value
  if (typeof uri !== 'string') return null
  const mimeType = textOf(value.mimeType)
  if (typeof text === 'string') {
    return { kind: 'text', uri, mimeType, text, meta: isJsonObject(_meta) ? _meta : undefined }
  }
  if (typeof blob !== 'string' || !/^[\w+/-]*={0,2}$/.test(blob)) return null
  return { kind: 'binary', uri, mimeType, bytes: Buffer.from(blob, 'base64') }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
