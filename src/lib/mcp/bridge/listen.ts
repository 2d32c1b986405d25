import { arrayOf, isJsonObject, type JsonObject } from '../../util/json.ts'
import { metaKeys } from '../request-metadata.ts'
import type { ClientCall } from './call.ts'
import type { Upstream } from './connection.ts'
import type { BridgeContext } from './context.ts'
import type { ServerText } from './exchange.ts'
import { messageText, type RpcRequest } from './rpc.ts'

const acknowledged = 'notifications/subscriptions/acknowledged'

/**
 * One `subscriptions/listen` of a client of 2026-07-28, opened again whenever its stream ends.
 * Resolves when the client has its answer, which ends the subscription, or has cancelled it. Rejects
 * with `Unreachable`.
 */
export async function listen(
  { connection, output }: BridgeContext,
  call: ClientCall,
  { id }: RpcRequest,
): Promise<void> {
  /** From the acknowledgement on, nothing but the client ends the subscription. */
  let isAcknowledged = false

  async function deliver(text: ServerText): Promise<void> {
    const [message] = text.messages
    const isReconnect = isAcknowledged
    const isAcknowledgement = message?.kind === 'notification' && message.method === acknowledged
    isAcknowledged ||= isAcknowledgement
    if (isReconnect && isAcknowledgement) return catchUp(message.params)
    // A server that is stopping ends the stream with a result.
    if (isReconnect && message?.kind === 'response') return
    return call.pass(text)
  }

  /** Sends the notifications that the client may have missed, after it was acknowledged again. */
  async function catchUp({ notifications }: JsonObject): Promise<void> {
    const honoured = isJsonObject(notifications) ? notifications : {}
    const _meta = { [metaKeys.subscriptionId]: id }
    for (const kind of ['resources', 'tools', 'prompts']) {
      const method = `notifications/${kind}/list_changed`
      if (honoured[`${kind}ListChanged`] !== true) continue
      await output.send(messageText({ method, params: { _meta } }))
    }
    for (const uri of arrayOf(honoured.resourceSubscriptions)) {
      const method = 'notifications/resources/updated'
      await output.send(messageText({ method, params: { uri, _meta } }))
    }
  }

  async function run(upstream: Upstream): Promise<boolean> {
    const headers = call.statelessHeaders ?? {}
    const asked = { headers, body: call.line, signal: call.cancelled.signal, isStream: true }
    const ended = await connection.exchange(upstream, { method: 'POST', ...asked }, { deliver })
    if (isAcknowledged) return true
    await call.refuse(connection.errorOf(ended, upstream))
    return false
  }

  await connection.ready()
  await connection.keep(run, call.cancelled.signal)
}
