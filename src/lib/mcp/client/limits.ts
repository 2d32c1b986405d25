/** Every bound of looking from the terminal. */
export interface McpClientLimits {
  /** One message of the server; an artefact of any size is fetched in another way. */
  maxAnswerBytes: number
  /** Parts of all messages that are still arriving, together. */
  maxHeldBytes: number
  /** Pages of one listing. */
  maxPages: number
  /** Resources, or templates, of one listing. */
  maxListed: number

  /** Until a connection stands. */
  connectMs: number
  /** Nothing arrives of an answer for so long: the request has failed. */
  answerMs: number
  /** A subscription is confirmed within this. */
  standMs: number
  /** At the end the server gets so long to be told that the session ends. */
  farewellMs: number
}

const MiB = 1024 * 1024

export const defaultMcpClientLimits: Readonly<McpClientLimits> = {
  maxAnswerBytes: 64 * MiB,
  maxHeldBytes: 128 * MiB,
  maxPages: 1000,
  maxListed: 100_000,
  connectMs: 5000,
  answerMs: 60_000,
  standMs: 10_000,
  farewellMs: 500,
}
