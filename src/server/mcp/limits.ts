import { defaultArtefactLimits } from '../artefacts/limits.ts'
import { hostDefaults, type HostLimits } from '../host/limits.ts'
import { httpDefaults } from '../http/limits.ts'
import { resourceDefaults } from '../resources/limits.ts'

/** Bounds of MCP clients, which tests shrink. Sizes in bytes, times in milliseconds. */
export const mcpDefaults = {
  /** Open streams of `subscriptions/listen`; further ones are refused. */
  maxListenStreams: 10_000,
  /** URIs that one session, or one listen stream, may subscribe to. */
  maxSubscriptionsPerSession: 1000,
  /** Answers that clients have not taken yet; shared ones count once. */
  maxHeldAnswerBytes: 512 * 1024 * 1024,
  /** Calls of `wait_for_change` at once. */
  maxWaits: 2000,
  /** A waiting call that asked for progress gets it this often. */
  waitProgressMs: 10_000,
}

export type McpLimits = HostLimits & typeof mcpDefaults

/** The defaults with the given bounds in their place. Limits of users come from `checkLimits`. */
export function resolveMcpLimits(bounds: Partial<McpLimits> = {}): McpLimits {
  const server = { ...httpDefaults, ...resourceDefaults, ...hostDefaults, ...mcpDefaults }
  return { ...defaultArtefactLimits, ...server, ...bounds }
}
