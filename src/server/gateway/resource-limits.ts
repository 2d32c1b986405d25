/** Bounds of what the gateway shows. */
export interface GatewayResourceLimits {
  /** Instances of one answer, also when the reader names no `limit`. */
  maxInstanceRows: number
  /** Instances named when a prefix fits several. */
  maxLookupCandidates: number
  /** Characters of a text of a record as it is shown. */
  maxRowTextChars: number
  /** Bytes of the metadata of a row, as JSON. */
  maxRowMetadataBytes: number

  /** Events of the gateway that are kept; the oldest go. */
  maxGatewayEvents: number
  /** Characters of each text of an event. */
  maxGatewayEventTextChars: number

  /** Bytes of a catalog file. */
  maxCatalogBytes: number
  /** Entries of a catalog. */
  maxCatalogEntries: number
  /** Characters of one text of an entry. */
  maxCatalogTextChars: number
  /** Items of one list of an entry. */
  maxCatalogItems: number
  /** Entries of one answer when the reader names no `limit`. */
  defaultCatalogLimit: number
  /** The catalog file is looked at this often, to tell subscribers. */
  catalogPollMs: number
}

const KiB = 1024
const MiB = 1024 * KiB

export const defaultGatewayResourceLimits: Readonly<GatewayResourceLimits> = Object.freeze({
  maxInstanceRows: 1000,
  maxLookupCandidates: 20,
  maxRowTextChars: 1024,
  maxRowMetadataBytes: 4 * KiB,

  maxGatewayEvents: 1000,
  maxGatewayEventTextChars: 500,

  maxCatalogBytes: 1 * MiB,
  maxCatalogEntries: 1000,
  maxCatalogTextChars: 4096,
  maxCatalogItems: 100,
  defaultCatalogLimit: 100,
  catalogPollMs: 2000,
})
