import { onAbort } from '../../util/abort.ts'
import { arrayOf, isJsonObject, type JsonObject } from '../../util/json.ts'
import { metaKeys } from '../request-metadata.ts'
import type { Call } from './call.ts'
import type { Upstream } from './connection.ts'
import type { BridgeContext } from './context.ts'
import type { ServerText } from './exchange.ts'
import { notificationMessage, type RpcRequest } from './rpc.ts'

const acknowledged = 'notifications/subscriptions/acknowledged'

/** One `subscriptions/listen` of a client of 2026-07-28, opened again whenever its stream ends. */
export class ListenStream {
  /** Resolves when the client has its answer, or has cancelled the subscription. */
  readonly done: Promise<void>
  readonly #context: BridgeContext
  readonly #call: Call
  readonly #request: RpcRequest
  readonly #finish: () => void
  /** The client has the acknowledgement: from then on nothing but the client ends the subscription. */
  #isAcknowledged = false

  constructor(context: BridgeContext, call: Call, request: RpcRequest) {
    this.#context = context
    this.#call = call
    this.#request = request
    const { promise, resolve } = Promise.withResolvers<void>()
    this.done = promise
    this.#finish = resolve
    onAbort(call.cancelled, resolve)
  }

  /** Runs the stream of the subscription as `KeptStream` has it. */
  async run(upstream: Upstream): Promise<boolean> {
    const call = this.#call
    const { connection } = this.#context
    const deliver = async (text: ServerText): Promise<void> => {
      const [message] = text.messages
      const isAgain = this.#isAcknowledged
      const isAcknowledgement = message?.kind === 'notification' && message.method === acknowledged
      this.#isAcknowledged ||= isAcknowledgement
      if (isAgain && isAcknowledgement) return this.#catchUp(message.params)
      // A server that is stopping ends the stream with a result.
      if (isAgain && message?.kind === 'response') return
      return call.pass(text)
    }
    const headers = call.statelessHeaders ?? {}
    const asked = { headers, body: call.line, signal: call.cancelled }
    const ask = { method: 'POST', ...asked, isStream: true } as const
    const ended = await connection.exchange(upstream, ask, { deliver })
    if (this.#isAcknowledged) return true
    await call.settle(ended, upstream)
    this.#finish()
    return false
  }

  /** Sends the notifications that the client may have missed, after it was acknowledged again. */
  async #catchUp({ notifications }: JsonObject): Promise<void> {
    const { output } = this.#context
    const honoured = isJsonObject(notifications) ? notifications : {}
    const _meta = { [metaKeys.subscriptionId]: this.#request.id }
    for (const kind of ['resources', 'tools', 'prompts']) {
      const method = `notifications/${kind}/list_changed`
      if (honoured[`${kind}ListChanged`] !== true) continue
      await output.send(notificationMessage(method, { _meta }))
    }
    for (const uri of arrayOf(honoured.resourceSubscriptions)) {
      await output.send(notificationMessage('notifications/resources/updated', { uri, _meta }))
    }
  }
}
