import type { Limits } from '../../lib/config/limits.ts'

/** Bounds of resources, which tests shrink. Sizes in bytes, times in milliseconds. */
export const resourceDefaults = {
  /** Past scenes kept for `scene://delta`: whole texts, or what patches changed. */
  maxSceneRevisionBytes: 32 * 1024 * 1024,
  /** Objects of a scene that is patched. */
  maxPatchedObjects: 100_000,
}

export type ResourceLimits = Limits & typeof resourceDefaults
