import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../../util/json.ts'
import type { BridgeContext } from './context.ts'
import { exchange, type Refused } from './exchange.ts'
import type { RpcError } from '../json-rpc.ts'
import { requestMessage } from './rpc.ts'
import type { Target } from './target.ts'

export interface OwnRequest {
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
