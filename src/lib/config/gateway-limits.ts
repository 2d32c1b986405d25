/**
 * The bounds of the gateway that only tests replace. Public ones, such as `instanceStaleMs`, and
 * those of connections are in `./limits.ts`.
 */
export interface GatewayLimits {
  /** Bytes of one instance record. */
  maxRecordBytes: number
  /** Arrays and objects inside each other in a record. */
  maxRecordDepth: number
  /** Characters of a text of a record; longer ones are cut. */
  maxRecordTextChars: number
  /** Characters of the scene's path in a record; longer ones are cut. */
  maxRecordSceneChars: number
  /** Characters of the address of an instance; a longer one is a fault. */
  maxRecordUrlChars: number
  /** Bytes of the metadata of a record, as JSON. */
  maxRecordMetadataBytes: number
  /** Records that are looked at. */
  maxRecords: number
  /** Records that are not understood and are named one by one. */
  maxRecordFaults: number

  /** All records are looked at this often, where change events do not arrive. */
  recordScanMs: number
  /** Changes of records within this time are looked at, and told, together. */
  recordGatherMs: number
  /** It is checked this often whether the processes of the instances run. */
  processCheckMs: number
  /** Dead instances that are listed; the longest dead go first. */
  maxDeadInstances: number
  /** A dead instance is listed for so long. */
  deadInstanceMs: number
  /** The record and the token that a dead process left are deleted after so long. */
  reapAfterMs: number

  /** Every live instance is asked this often whether it is ready. */
  probeIntervalMs: number
  /** It must have answered within this time. */
  probeTimeoutMs: number
  /** Instances that are asked at the same time. */
  maxProbes: number
  /** Bytes of its answer that are read. */
  maxProbeAnswerBytes: number
  /** An instance that failed to answer so often in a row is unhealthy. */
  maxProbeFailures: number

  /** An instance must have begun an answer to a client of the gateway within this time. */
  instanceAnswerMs: number
  /** An instance that sends nothing more of an answer for so long has stopped answering. */
  instanceSilenceMs: number

  /** Users whose view of the instances is kept. */
  maxViews: number
  /** The view of a user without sessions, streams and calls is kept for so long. */
  viewIdleMs: number

  /** A gateway that stands by tries this often to take the port. */
  electionRetryMs: number
  /** The program that holds the port must have identified itself within this time. */
  activeProbeMs: number
  /** A gateway that did not say so, so often in a row, is unresponsive. */
  maxActiveProbeFailures: number

  /** Instances of one answer, also when the reader names no `limit`. */
  maxInstanceRows: number
  /** Instances that are named when the beginning of an id fits several. */
  maxLookupCandidates: number
  /** Events of the gateway that are kept; the oldest go. */
  maxGatewayEvents: number
  /** Characters of each text of such an event; longer ones are cut. */
  maxGatewayEventTextChars: number

  /** Bytes of a catalog file. */
  maxCatalogBytes: number
  /** Entries of a catalog. */
  maxCatalogEntries: number
  /** Characters of a description in a catalog. */
  maxCatalogTextChars: number
  /** Items of one list of a catalog entry. */
  maxCatalogItems: number
  /** Entries of `gateway://catalog` when the reader names no `limit`. */
  defaultCatalogLimit: number
  /** It is checked this often whether the catalog file changed. */
  catalogPollMs: number
}

const KiB = 1024
const MiB = 1024 * KiB
const minute = 60_000

/** Sizes in bytes, times in milliseconds. */
export const defaultGatewayLimits: Readonly<GatewayLimits> = {
  maxRecordBytes: 64 * KiB,
  maxRecordDepth: 16,
  maxRecordTextChars: 255,
  maxRecordSceneChars: 1024,
  maxRecordUrlChars: 2048,
  maxRecordMetadataBytes: 4 * KiB,
  maxRecords: 10_000,
  maxRecordFaults: 100,

  recordScanMs: 2000,
  recordGatherMs: 50,
  processCheckMs: 500,
  maxDeadInstances: 1000,
  deadInstanceMs: 60 * minute,
  reapAfterMs: 10 * minute,

  probeIntervalMs: 5000,
  probeTimeoutMs: 5000,
  maxProbes: 32,
  maxProbeAnswerBytes: 4 * KiB,
  maxProbeFailures: 2,

  instanceAnswerMs: 10_000,
  instanceSilenceMs: 30_000,

  maxViews: 1000,
  viewIdleMs: 5 * minute,

  electionRetryMs: 500,
  activeProbeMs: 1500,
  maxActiveProbeFailures: 3,

  maxInstanceRows: 1000,
  maxLookupCandidates: 20,
  maxGatewayEvents: 1000,
  maxGatewayEventTextChars: 255,

  maxCatalogBytes: 1 * MiB,
  maxCatalogEntries: 1000,
  maxCatalogTextChars: 4000,
  maxCatalogItems: 100,
  defaultCatalogLimit: 100,
  catalogPollMs: 2000,
}

/** The defaults with the given bounds in their place. */
export function resolveGatewayLimits(bounds: Partial<GatewayLimits> = {}): GatewayLimits {
  return { ...defaultGatewayLimits, ...bounds }
}
