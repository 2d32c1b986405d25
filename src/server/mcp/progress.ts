import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJsonObject } from '../../lib/util/json.ts'
import { accepts } from '../http/media.ts'
import { eventFrame, eventStreamHeaders } from './event-stream.ts'
import { isRequestId } from '../../lib/mcp/json-rpc.ts'
import type { RequestMessage } from './json-rpc.ts'
import type { Progress } from './tools/tool.ts'

/**
 * Reports on a call whose `_meta` asks for progress. The first report turns the answer into an
 * event stream, which `sendAnswer` then ends. Progress that is not above the last one is left out,
 * as the protocol demands. Null when the client did not ask.
 */
export function progressOf(
  req: IncomingMessage,
  res: ServerResponse,
  { method, params }: Pick<RequestMessage, 'method' | 'params'>,
): Progress | null {
  if (method !== 'tools/call' || !isJsonObject(params._meta)) return null
  const { progressToken } = params._meta
  if (typeof progressToken !== 'number' && !isRequestId(progressToken)) return null
  if (!accepts(req.headers.accept, 'text/event-stream')) return null
  let last = Number.NEGATIVE_INFINITY
  return {
    report(progress, total, message) {
      if (progress <= last || res.destroyed || res.writableEnded) return
      last = progress
      if (!res.headersSent) res.writeHead(200, eventStreamHeaders)
      const reported = { progressToken, progress, total, message }
      const notification = { method: 'notifications/progress', params: reported }
      res.write(eventFrame(JSON.stringify({ jsonrpc: '2.0', ...notification })))
    },
  }
}
