import { type McpLimits, resolveMcpLimits } from '../mcp/limits.ts'

/** Bounds of the gateway, which tests shrink. Times in milliseconds. */
export const gatewayDefaults = {
  /** An instance must have begun an answer within this time. */
  instanceAnswerMs: 10_000,
  /** An answer that brings nothing more for this long has ended. */
  instanceSilenceMs: 30_000,
  /** The accounts server is asked again this often for each token with which something is open. */
  joinTokenCheckMs: 3000,
  /** Instances that were joined before a restart are back within this time. */
  rejoinMs: 3000,
}

export type GatewayLimits = McpLimits & typeof gatewayDefaults

/** The defaults with the given bounds in their place. */
export function resolveGatewayLimits(bounds: Partial<GatewayLimits> = {}): GatewayLimits {
  return { ...resolveMcpLimits(), ...gatewayDefaults, ...bounds }
}
