/** The bounds of the `resources` and `artefacts` commands. */
export interface McpClientLimits {
  /** One message of the server; artefacts are downloaded without this limit. */
  maxAnswerBytes: number
  /** All messages that are still arriving, together. */
  maxHeldBytes: number
  /** Pages of one listing. */
  maxPages: number
  /** Resources, or templates, of one listing. */
  maxListed: number

  /** To connect. */
  connectMs: number
  /** A request fails after this time without data. */
  answerMs: number
  /** For the server to confirm a subscription. */
  standMs: number
  /** For the DELETE of the session at the end. */
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
