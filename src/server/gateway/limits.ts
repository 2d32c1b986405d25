import { type McpLimits, resolveMcpLimits } from '../mcp/limits.ts'

/** Bounds of the gateway, which tests shrink. Sizes in bytes, times in milliseconds. */
export const gatewayDefaults = {
  /** Instance records that are read. */
  maxRecords: 10_000,
  /** All records are read this often, where change events do not arrive. */
  recordScanMs: 2000,
  /** Changes of records within this time are read, and reported, together. */
  recordGatherMs: 50,
  /** The processes of the instances are checked this often. */
  processCheckMs: 500,
  /** Dead instances that are listed; the longest dead are removed. */
  maxDeadInstances: 1000,
  /** A dead instance is listed for this long. */
  deadInstanceMs: 60 * 60_000,
  /** The record and the token of a dead process are deleted after this. */
  reapAfterMs: 10 * 60_000,
  /** Every live instance is asked this often whether it is ready. */
  probeIntervalMs: 5000,
  /** It must answer within this time. */
  probeTimeoutMs: 5000,
  /** Instances that are asked at once. */
  maxProbes: 32,
  /** An instance is unhealthy after this many failures in a row. */
  maxProbeFailures: 2,
  /** An instance must have begun an answer within this time. */
  instanceAnswerMs: 10_000,
  /** An answer that brings nothing more for this long has ended. */
  instanceSilenceMs: 30_000,
  /** The accounts server is asked again this often for each token with which something is open. */
  joinTokenCheckMs: 3000,
  /** Users whose view of the instances is kept. */
  maxViews: 1000,
  /** The view of a user without sessions, streams and calls is kept for this long. */
  viewIdleMs: 5 * 60_000,
  /** The program that holds the port must have identified itself within this time. */
  activeProbeMs: 1500,
  /** A gateway is unresponsive after this many failures in a row. */
  maxActiveProbeFailures: 3,
}

export type GatewayLimits = McpLimits & typeof gatewayDefaults

/** The defaults with the given bounds in their place. */
export function resolveGatewayLimits(bounds: Partial<GatewayLimits> = {}): GatewayLimits {
  return { ...resolveMcpLimits(), ...gatewayDefaults, ...bounds }
}
