import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import type { BridgeContext, Target } from './context.ts'
import { exchange, type Refused } from './exchange.ts'
import type { RpcError } from '../json-rpc.ts'
import { requestMessage } from './rpc.ts'
import {
  claimOf,
  encodeHeaderValue,
  isHeaderText,
  metaKeys,
  namedMember,
} from '../request-metadata.ts'

interface OwnRequest {
  readonly target: Target
  readonly headers: Readonly<Record<string, string>>
  readonly method: string
  readonly params: JsonObject
  readonly signal: AbortSignal
}

export type OwnAnswer =
  | { readonly kind: 'result'; readonly result: JsonObject; readonly headers: IncomingHttpHeaders }
  | { readonly kind: 'error'; readonly error: RpcError }
  | Refused
  | { readonly kind: 'broken'; readonly reason: string }

/** The client never hears of it: every answer to it is taken by the bridge. */
const ownId = 'service-cli'

/** A request of the bridge itself, with the answer that it must come to within `restoreMs`. */
export async function askServer(
  context: BridgeContext,
  { target, headers, method, params, signal }: OwnRequest,
): Promise<OwnAnswer> {
  const { restoreMs } = context.limits
  let answer: OwnAnswer | null = null
  const ended = await exchange(
    { ...context, silenceMs: restoreMs },
    {
      url: target.url,
      method: 'POST',
      headers,
      body: requestMessage(ownId, method, params),
      repeatable: true,
      answerMs: restoreMs,
      signal,
    },
    {
      async deliver({ messages, headers }) {
        for (const message of messages) {
          if (message.kind !== 'response') continue
          const { result, error } = message
          if (error !== null) answer = { kind: 'error', error }
          else if (result !== null) answer = { kind: 'result', result, headers }
        }
        return answer === null
      },
    },
  )
  if (answer !== null) return answer
  if (ended.kind === 'refused') return ended
  const reason = ended.kind === 'broken' ? ended.reason : 'it gave no answer that can be used'
  return { kind: 'broken', reason }
}

/** A client of 2026-07-28 names its revision in every request; those of sessions never do. */
export function isStateless(params: JsonObject): boolean {
  return claimOf(params) !== null
}

/**
 * What 2026-07-28 wants repeated in headers ("Streamable HTTP", request metadata). What no header
 * can carry is left out: the server then says what is wrong.
 */
export function statelessHeaders(method: string, params: JsonObject): Record<string, string> {
  const meta = isJsonObject(params._meta) ? params._meta : {}
  const version = meta[metaKeys.protocolVersion]
  const name = nameOf(method, params)
  return {
    ...(typeof version === 'string' && isHeaderText(version)
      ? { 'MCP-Protocol-Version': version }
      : {}),
    ...(isHeaderText(method) ? { 'Mcp-Method': method } : {}),
    ...(name === null ? {} : { 'Mcp-Name': encodeHeaderValue(name) }),
  }
}

function nameOf(method: string, params: JsonObject): string | null {
  const member = namedMember(method)
  const value = member === undefined ? null : params[member]
  return typeof value === 'string' ? value : null
}
