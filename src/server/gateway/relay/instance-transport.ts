import type { IncomingHttpHeaders } from 'node:http'
import type { HttpAsker } from '../../../lib/mcp/bridge/http-link.ts'

/** A request to an instance. It may be sent twice. */
export interface ReadRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Time until the answer begins. */
  readonly answerMs: number
  /** Longest time without data, unless the answer is paused. */
  readonly silenceMs: number
}

/** An answer that arrives. */
export interface Arriving {
  pause(): void
  resume(): void
  /** Unless the answer has ended, `failed` follows with this reason. */
  cut(reason: Error): void
}

/** Hears of the answer: `begun`, `data` any number of times, and once `ended` or `failed`. */
export interface AnswerReceiver {
  begun(status: number, headers: IncomingHttpHeaders, answer: Arriving): void
  data(chunk: Buffer): void
  ended(): void
  /** With an `Unreachable`, or the reason of a cut. */
  failed(reason: Error): void
}

/** Sends reads, which are many and short. */
export interface ReadSender {
  /** Returns a function that cancels the request. */
  send(request: ReadRequest, receiver: AnswerReceiver): (reason: Error) => void
}

/** How requests reach one instance. */
export interface InstanceTransport {
  /** Of its MCP endpoint. Throws a `ServiceError` while it cannot be reached. */
  readonly url: URL
  /** For calls, downloads and event streams. */
  asker(): Promise<HttpAsker>
  reads(): Promise<ReadSender>
  /** The status of an answer that refuses a request. */
  refused(status: number | undefined): void
  close(): void
}
