import { eventFrame, type StreamEncoder } from '../event-stream.ts'

/** The key under which a topic keeps its encoding. */
const key = 'session-sse'

/** Updates of the session transport carry nothing of their session: one encoding serves all. */
export const sessionEncoder: StreamEncoder = {
  update: topic => topic.encoded(key, encodeUpdate),
  listChanged: notification({ method: 'notifications/resources/list_changed' }),
}

function encodeUpdate(uri: string): Buffer {
  return notification({ method: 'notifications/resources/updated', params: { uri } })
}

function notification(members: object): Buffer {
  return eventFrame(JSON.stringify({ jsonrpc: '2.0', ...members }))
}
