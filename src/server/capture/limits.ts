import { defaultPublicLimits, type PublicLimits } from '../../lib/config/limits.ts'

type PublicNames = 'maxCaptureBytes' | 'maxCaptureWidth' | 'captureMs'

/** Every bound of window capture. */
export interface CaptureLimits extends Pick<PublicLimits, PublicNames> {
  /** A finished picture answers all reads within this time. */
  captureReuseMs: number
  /** Pictures of different widths taken at the same time; further ones wait. */
  maxCapturesAtOnce: number
  /** Readers that wait for a picture; further reads fail at once. */
  maxCaptureReaders: number
  /** The ways to a picture are tried this often while an application is there. */
  captureProbeIntervalMs: number
  /** A way that does not say within this time whether it works counts as one that does not. */
  captureProbeMs: number
  /** After failed captures they are tried again at most this often. */
  captureDoubtMs: number
}

/** Sizes in bytes, times in milliseconds. */
export const defaultCaptureLimits: Readonly<CaptureLimits> = {
  maxCaptureBytes: defaultPublicLimits.maxCaptureBytes,
  maxCaptureWidth: defaultPublicLimits.maxCaptureWidth,
  captureMs: defaultPublicLimits.captureMs,
  captureReuseMs: 250,
  maxCapturesAtOnce: 1,
  maxCaptureReaders: 64,
  captureProbeIntervalMs: 30_000,
  // More than the slowest backend gives itself.
  captureProbeMs: 6000,
  captureDoubtMs: 1000,
}

/** The defaults with the given bounds in their place. */
export function resolveCaptureLimits(bounds: Partial<CaptureLimits> = {}): CaptureLimits {
  return { ...defaultCaptureLimits, ...bounds }
}
