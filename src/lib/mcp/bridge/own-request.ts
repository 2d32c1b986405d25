import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { version } from '../../util/version.ts'
import type { RequestId, RpcError } from '../json-rpc.ts'
import { encodeHeaderValue, isHeaderText, metaKeys, namedMember } from '../request-metadata.ts'
import { exchange, type Exchanged, type ExchangeParts } from './exchange.ts'
import { requestMessage } from './rpc.ts'

/** The answer to a request, and the headers of the response that carried it. */
export type RpcAnswer =
  | { readonly kind: 'result'; readonly result: JsonObject; readonly headers: IncomingHttpHeaders }
  | { readonly kind: 'error'; readonly error: RpcError }

export interface Question {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly id: RequestId
  readonly method: string
  readonly params: JsonObject
  readonly answerMs: number
  readonly isHeld?: boolean
  readonly signal: AbortSignal
}

/** Sends one request and waits for its answer, as JSON or as a stream. Never rejects. */
export async function askOnce(
  parts: Omit<ExchangeParts, 'silenceMs'>,
  { id, method, params, ...question }: Question,
): Promise<RpcAnswer | Exchanged> {
  const answers: RpcAnswer[] = []
  const ended = await exchange(
    { ...parts, silenceMs: question.answerMs },
    { ...question, method: 'POST', body: requestMessage(id, method, params), repeatable: true },
    {
      async deliver({ messages, headers }) {
        for (const message of messages) {
          if (message.kind !== 'response' || (message.id !== null && message.id !== id)) continue
          const { result, error } = message
          if (error !== null) answers.push({ kind: 'error', error })
          else if (result !== null) answers.push({ kind: 'result', result, headers })
        }
        return answers.length === 0
      },
    },
  )
  return answers[0] ?? ended
}

/** The params of an own request of 2026-07-28, which needs no session. */
export function withMeta(params: JsonObject): JsonObject {
  const _meta = {
    [metaKeys.protocolVersion]: '2026-07-28',
    [metaKeys.clientInfo]: { name: 'service-cli', version },
    [metaKeys.clientCapabilities]: {},
  }
  return { ...params, _meta }
}

/**
 * The headers that repeat parts of a 2026-07-28 request (Streamable HTTP, request metadata). Omits
 * values that no header can carry; the server then reports the error.
 */
export function statelessHeaders(method: string, params: JsonObject): Record<string, string> {
  const meta = isJsonObject(params._meta) ? params._meta : {}
  const revision = meta[metaKeys.protocolVersion]
  const member = namedMember(method)
  const name = member === undefined ? null : params[member]
  return {
    ...(typeof revision === 'string' &&
      isHeaderText(revision) && { 'MCP-Protocol-Version': revision }),
    ...(isHeaderText(method) && { 'Mcp-Method': method }),
    ...(typeof name === 'string' && { 'Mcp-Name': encodeHeaderValue(name) }),
  }
}
