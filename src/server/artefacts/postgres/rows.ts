import type { ArtefactLimits } from '../limits.ts'
import { parseExact } from '../../../lib/util/exact-json.ts'
import { boundOf } from '../expiry.ts'
import type { ArtefactRef } from '../store.ts'

/** A row of the catalog. */
export interface CatalogRow {
  readonly hex: string
  /** Name of its object in the bucket. */
  readonly object: string
  /** JSON of the reference. */
  readonly sidecar: string
  /** The number of the change that wrote the row. */
  readonly change: number
}

export type CatalogLimits = Pick<
  ArtefactLimits,
  'artefactTtlMs' | 'maxArtefacts' | 'maxArtefactTotalBytes' | 'maxArtefactPageBytes'
>

/** The NOTIFY channel for changes. */
export const channel = 'artefacts_changed'
/** In place of an infinite time, which PostgreSQL does not have for integers. */
export const maxTimeMs = Number.MAX_SAFE_INTEGER

/** The columns of a `CatalogRow`. */
export const columns = 'hex, object, sidecar, change'

/** Artefacts without an expiry are live when they were stored after this time. */
export function liveAfterMs(nowMs: number, { artefactTtlMs }: CatalogLimits): number {
  return Math.max(nowMs - boundOf(artefactTtlMs), -maxTimeMs)
}

export function refOf(row: CatalogRow): ArtefactRef {
  return Object.freeze(parseExact(row.sidecar) as ArtefactRef)
}
