import type { ServerResponse } from 'node:http'
import { isRequestId, type RequestId } from '../../lib/mcp/json-rpc.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import { accepts } from '../http/media.ts'
import type { Client } from './client-table.ts'
import { eventFrame, eventStreamHeaders } from './event-stream.ts'
import type { RequestContext } from '../http/request-context.ts'
import { type NotificationMessage, type RequestMessage, uriOf } from './json-rpc.ts'
import { sendNoAnswer } from './send.ts'
import type { Session } from './sessions.ts'
import type { Caller, Progress } from './tools/tool.ts'

export interface CallParts {
  readonly res: ServerResponse
  readonly context: RequestContext
  /** Absent: of the stateless transport. */
  readonly session?: Session
  /** Default: that of the session. */
  readonly client?: Client
  readonly isBatched?: boolean
}

/**
 * One request while it is being answered. It keeps nothing of the params, which may be large while the
 * call waits for long.
 */
export class Call implements Caller {
  readonly id: RequestId
  readonly method: string
  readonly res: ServerResponse
  readonly session: Session | null
  readonly client: Client | undefined
  readonly principal: string
  readonly mayAnswer: boolean
  readonly isReadOnly: boolean
  readonly schemes: Caller['schemes']
  readonly isBatched: boolean
  readonly progress: Progress | null
  #abort: AbortController | undefined
  #isCancelled = false

  constructor(message: RequestMessage, parts: CallParts) {
    const { context, session = null, client = session?.client, isBatched = false } = parts
    this.id = message.id
    this.method = message.method
    this.res = parts.res
    this.session = session
    this.client = client
    this.principal = context.principal
    this.mayAnswer = context.mayAnswer
    this.isReadOnly = !context.mayWrite
    this.schemes = context.viewer?.schemes
    this.isBatched = isBatched
    this.progress = isBatched ? null : progressOf(parts.res, message)
  }

  /** Aborted when the client cancels the request or, without a session, closes its connection. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#isCancelled) this.#abort.abort()
      // Most requests end before anything waits; only one that waits is worth cancelling.
      this.session?.add(this)
    }
    return this.#abort.signal
  }

  get isCancelled(): boolean {
    return this.#isCancelled
  }

  /** Ends the response without an answer, unless others of the batch are still to be answered. */
  cancel(): void {
    this.#isCancelled = true
    this.#abort?.abort()
    if (!this.isBatched) sendNoAnswer(this.res)
  }
}

/**
 * Reports on a call whose `_meta` asks for progress. The first report turns the answer into an event
 * stream, which `sendAnswer` then ends. Progress that is not above the last one is left out, as the
 * protocol demands. Null when the client did not ask.
 */
function progressOf(res: ServerResponse, { method, params }: RequestMessage): Progress | null {
  if (method !== 'tools/call' || !isJsonObject(params._meta)) return null
  const { progressToken } = params._meta
  if (typeof progressToken !== 'number' && !isRequestId(progressToken)) return null
  if (!accepts(res.req.headers.accept, 'text/event-stream')) return null
  let last = Number.NEGATIVE_INFINITY
  return {
    report(progress, total, message) {
      if (progress <= last || res.destroyed || res.writableEnded) return
      last = progress
      if (!res.headersSent) res.writeHead(200, eventStreamHeaders)
      const params = { progressToken, progress, total, message }
      res.write(eventFrame({ method: 'notifications/progress', params }))
    },
  }
}

/** Records what a message is about, for the access log. */
export function recordCall(
  context: RequestContext,
  { method, params }: RequestMessage | NotificationMessage,
): void {
  const { name } = params
  const isNamed = method === 'tools/call' && typeof name === 'string'
  context.rpc = isNamed ? `${method} ${name}` : method
  context.uri = uriOf(method, params)
}
