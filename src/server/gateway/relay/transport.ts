import type { IncomingHttpHeaders } from 'node:http'
import type { AnswerBody } from './answer-body.ts'

export interface InstanceRequest {
  method: string
  /** With its query. */
  path: string
  headers: Record<string, string>
  body?: string | Buffer
}

export interface InstanceAnswer {
  status: number
  headers: IncomingHttpHeaders
  /** Destroy it to cancel the request. */
  body: AnswerBody
}

/** How requests reach one instance: an HTTP pool on this machine, or the link that it opened. */
export interface InstanceTransport {
  /**
   * Resolves when the answer begins. Rejects with an `Unreachable`, or the reason of `signal`. A
   * request may be sent twice when its connection was lost before the answer began.
   */
  send(request: InstanceRequest, signal: AbortSignal): Promise<InstanceAnswer>
  close(): void
}
