/** The bounds of the bridge. */
export interface BridgeLimits {
  /** One line of the client; the rest of a longer one is skipped. */
  maxLineBytes: number
  /** One message to the client. */
  maxAnswerBytes: number
  /** All messages that are still arriving, together. */
  maxHeldBytes: number
  /** Open requests and listen streams. */
  maxRequests: number
  /** Resources whose subscriptions are renewed after a restart of the server. */
  maxSubscriptions: number
  /** Unread messages of the client; above this the bridge stops reading its input. */
  maxWaitingMessages: number

  /** To connect. */
  connectMs: number
  /** A request fails after this time without data. */
  answerMs: number
  /** For one step of restoring a session or stream. */
  restoreMs: number
  /** Requests of a new session wait at most this long for its stream. */
  streamOpenMs: number
  /**
   * `serve --stdio` starts its own server when the joined one is away for once to twice this time.
   */
  takeoverMs: number
  /** For open requests after the end of stdin. */
  finishMs: number
  /** For open requests after a stop signal. */
  stopMs: number
  /** At the end, for the DELETE of the session and for the client to read the rest. */
  farewellMs: number
}

const MiB = 1024 * 1024

export const defaultBridgeLimits: Readonly<BridgeLimits> = {
  maxLineBytes: 4 * MiB,
  // The official SDKs drop a server that sends a line over 10 MiB.
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
