import { defaultLimits } from '../../lib/config/limits.ts'

/** Bounds of artefacts, which tests shrink. Sizes in bytes, times in milliseconds. */
export const defaultArtefactLimits = {
  ...defaultLimits,
  /** Number of artefacts; the oldest are removed; 0 = no bound. */
  maxArtefacts: 100_000,
  /** Encoded blobs kept for repeated reads. */
  blobCacheBytes: 64 * 1024 * 1024,
  /** Blobs up to this size are verified once and kept encoded; larger ones are streamed. */
  maxCachedBlobBytes: 8 * 1024 * 1024,
  /** The metadata of one artefact as JSON. */
  maxArtefactMetadataBytes: 64 * 1024,
  /** Sidecars behind one page of artefacts; a page of large ones is shorter. */
  maxArtefactPageBytes: 1024 * 1024,
  /** Damaged artefacts kept for inspection; the oldest are removed; 0 = keep none. */
  maxArtefactQuarantineBytes: 1024 * 1024 * 1024,
  /** Expired artefacts and leftovers are removed this often; 0 = only at start. */
  artefactSweepMs: 60_000,
  /** Changes by other processes are looked for this often; 0 = never. */
  artefactPollMs: 1000,
}

export type ArtefactLimits = typeof defaultArtefactLimits
