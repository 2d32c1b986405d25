import type { JsonObject } from '../../util/json.ts'
import type { ClientRequest } from './client-message.ts'
import { type BridgeContext, postHeaders, type Target } from './context.ts'
import { exchange, type Exchanged, type ServerText } from './exchange.ts'
import { statelessHeaders } from './own-request.ts'
import type { RpcError } from '../json-rpc.ts'
import { errorMessage } from './rpc.ts'

interface ListenHooks {
  /** Called first, with the part of the filter that the server accepts. */
  readonly acknowledged: (params: JsonObject, line: Buffer) => Promise<void>
  readonly notified: (line: Buffer) => Promise<void>
}

/** How one stream of a subscription ended. `acknowledged`: the server had accepted it. */
export type ListenEnd =
  /** The server answered the request: with a result when it stops, or with an error. */
  | {
      readonly kind: 'answer'
      readonly line: Buffer
      readonly error: RpcError | null
      readonly acknowledged: boolean
    }
  | { readonly kind: 'no_answer'; readonly ended: Exchanged; readonly acknowledged: boolean }

/** Opens one `subscriptions/listen` stream and forwards its messages. Never rejects. */
export async function listenOnce(
  context: BridgeContext,
  { request, target, signal }: { request: ClientRequest; target: Target; signal: AbortSignal },
  hooks: ListenHooks,
): Promise<ListenEnd> {
  let acknowledged = false
  const answers: { line: Buffer; error: RpcError | null }[] = []

  async function deliver({ line, messages }: ServerText): Promise<boolean> {
    const [message, further] = messages
    if (message === undefined || further !== undefined) return true
    if (message.kind !== 'response') {
      const { kind, method } = message
      if (kind === 'notification' && method === 'notifications/subscriptions/acknowledged') {
        acknowledged = true
        await hooks.acknowledged(message.params, line)
      } else await hooks.notified(line)
      return true
    }
    const { id, error } = message
    if (id === request.id) answers.push({ line, error })
    else if (id === null && error !== null) {
      answers.push({ line: errorMessage(request.id, error), error })
    }
    return answers.length === 0
  }

  const ended = await exchange(
    // An idle stream is not broken.
    { ...context, silenceMs: null },
    {
      url: target.url,
      method: 'POST',
      headers: { ...postHeaders, ...statelessHeaders(request.method, request.params) },
      body: request.bytes,
      repeatable: true,
      answerMs: context.limits.answerMs,
      signal,
    },
    { deliver },
  )
  const [answer] = answers
  return answer === undefined
    ? { kind: 'no_answer', ended, acknowledged }
    : { kind: 'answer', ...answer, acknowledged }
}
