import type { RequestId } from '../../../lib/mcp/json-rpc.ts'
import { metaKeys } from '../../../lib/mcp/request-metadata.ts'
import { eventFrame, type StreamShape } from '../event-stream.ts'
import type { ServerIdentity } from '../identity.ts'

/** The key under which a topic keeps the part of its encoding that all streams share. */
const key = 'stateless-sse'

const subscription = `"_meta":{"${metaKeys.subscriptionId}":`
const listChangedHead = Buffer.from(
  `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{${subscription}`,
)

/**
 * The stateless era tells every stream its own id, so an update is put together from a head that is
 * encoded once per topic and a tail that is encoded once per stream.
 */
export function listenShape(id: RequestId, wantsListChanged: boolean): StreamShape {
  const tail = Buffer.from(`${JSON.stringify(id)}}}}\n\n`)
  // Most streams are about one URI, and in a burst the same update goes out many times.
  let last: { readonly head: Buffer; readonly bytes: Buffer } | null = null
  return {
    update(topic) {
      const head = topic.encoded(key, encodeHead)
      if (last?.head !== head) last = { head, bytes: joined(head, tail) }
      return last.bytes
    },
    listChanged: wantsListChanged ? joined(listChangedHead, tail) : null,
  }
}

/** What the client is told first: the part of its filter that is honoured. */
export function acknowledgement(id: RequestId, notifications: object): Buffer {
  return eventFrame(
    JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { _meta: { [metaKeys.subscriptionId]: id }, notifications },
    }),
  )
}

/** What the client is told last, when the server ends the stream: the answer to its request. */
export function streamResult(id: RequestId, { name, title, version }: ServerIdentity): Buffer {
  const _meta = {
    [metaKeys.subscriptionId]: id,
    [metaKeys.serverInfo]: { name, title, version },
  }
  return eventFrame(
    JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } }),
  )
}

function encodeHead(uri: string): Buffer {
  return Buffer.from(
    `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":${JSON.stringify(uri)},${subscription}`,
  )
}

function joined(head: Buffer, tail: Buffer): Buffer {
  return Buffer.concat([head, tail], head.length + tail.length)
}
