/**
 * The bounds of artefacts that only tests replace; part of `Limits`. Public ones, such as
 * `maxArtefactBytes`, are in `./limits.ts`.
 */
export interface ArtefactLimits {
  /** Bytes of encoded blobs kept for repeated reads. */
  blobCacheBytes: number
  /** Blobs up to this size are verified once and kept encoded; larger ones are streamed. */
  maxCachedBlobBytes: number
  /** Bytes of an artefact's metadata as JSON. */
  maxArtefactMetadataBytes: number
  /** Bytes of sidecars behind one page of artefacts; a page of large ones is shorter. */
  maxArtefactPageBytes: number
  /** Bytes of damaged artefacts kept aside for inspection; the oldest go first; 0 = keep none. */
  maxArtefactQuarantineBytes: number
  /** Bytes that one login of the page may upload in an hour. */
  maxPageUploadBytes: number
  /** Expired artefacts and leftovers are removed this often; 0 = only at start. */
  artefactSweepMs: number
  /** While there are listeners, changes by other processes are looked for this often; 0 = never. */
  artefactPollMs: number
}

const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/** Sizes in bytes, times in milliseconds; frozen. */
export const defaultArtefactLimits: Readonly<ArtefactLimits> = Object.freeze({
  blobCacheBytes: 64 * MiB,
  maxCachedBlobBytes: 8 * MiB,
  maxArtefactMetadataBytes: 64 * KiB,
  maxArtefactPageBytes: 1 * MiB,
  maxArtefactQuarantineBytes: 1 * GiB,
  maxPageUploadBytes: 1 * GiB,
  artefactSweepMs: 60_000,
  artefactPollMs: 1000,
})
