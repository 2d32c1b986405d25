/** Every bound of the bridge. Bytes and milliseconds. */
export interface BridgeLimits {
  /** One line of the client; the rest of a longer one is skipped. */
  maxLineBytes: number
  /** One message to the client. */
  maxAnswerBytes: number
  /** Parts of all messages that are still arriving, together. */
  maxHeldBytes: number
  /** Requests, and listen streams, that are open at once. */
  maxRequests: number
  /** Resources whose subscriptions are renewed after a restart of the server. */
  maxSubscriptions: number
  /** Messages that wait for a client which does not read, before its own are read no further. */
  maxWaitingMessages: number

  /** Until a connection stands. */
  connectMs: number
  /** Nothing arrives of an answer for so long: the request has failed. */
  answerMs: number
  /** One step of coming back to a server must be done within this. */
  restoreMs: number
  /** After the session began, its stream is waited for so long before requests go on. */
  streamOpenMs: number
  /** `serve --stdio`: the server that was joined is away for so long, or up to twice, before an own one starts. */
  takeoverMs: number
  /** After the end of stdin, requests that are still open get so long. */
  finishMs: number
  /** After a stop signal, so long. */
  stopMs: number
  /** At the end the server gets so long to be told that the session ends, the client to read the rest. */
  farewellMs: number
}

const MiB = 1024 * 1024

export const defaultBridgeLimits: Readonly<BridgeLimits> = {
  maxLineBytes: 4 * MiB,
  // The clients of the official SDKs give up a server whose line is over 10 MiB.
  maxAnswerBytes: 9 * MiB,
  maxHeldBytes: 64 * MiB,
  maxRequests: 256,
  maxSubscriptions: 1000,
  maxWaitingMessages: 1000,
  connectMs: 5000,
  answerMs: 5 * 60_000,
  restoreMs: 10_000,
  streamOpenMs: 1000,
  takeoverMs: 3000,
  finishMs: 10_000,
  stopMs: 1500,
  farewellMs: 500,
}
