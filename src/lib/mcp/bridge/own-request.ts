import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import type { BridgeContext, Target } from './context.ts'
import { exchange, type Refused } from './exchange.ts'
import { version } from '../../util/version.ts'
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
  /** The server may hold the answer back for this time; 0 by default. */
  readonly heldMs?: number
  readonly signal: AbortSignal
}

export type OwnAnswer =
  | { readonly kind: 'result'; readonly result: JsonObject; readonly headers: IncomingHttpHeaders }
  | { readonly kind: 'error'; readonly error: RpcError }
  | Refused
  | { readonly kind: 'broken'; readonly reason: string }

/** The bridge consumes the answer; the client never sees it. */
const ownId = 'service-cli'

/** Sends a request of the bridge itself and returns the answer; fails after
 * `restoreMs`, and `heldMs` more. */
export async function askServer(
  context: BridgeContext,
  { target, headers, method, params, heldMs = 0, signal }: OwnRequest,
): Promise<OwnAnswer> {
  const answerMs = context.limits.restoreMs + heldMs
  let answer: OwnAnswer | null = null
  const ended = await exchange(
    { ...context, silenceMs: answerMs },
    {
      url: target.url,
      method: 'POST',
      headers,
      body: requestMessage(ownId, method, params),
      repeatable: true,
      answerMs,
      isHeld: heldMs > 0,
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
  const reason = ended.kind === 'broken' ? ended.reason : 'it sent no valid answer'
  return { kind: 'broken', reason }
}

/** True for a request of 2026-07-28, which names its revision; session requests never do. */
export function isStateless(params: JsonObject): boolean {
  return claimOf(params) !== null
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
