import { defaultLimits, type Limits } from '../../lib/config/limits.ts'

/** Every bound of window capture. */
export interface CaptureLimits extends Pick<Limits, 'captureMs'> {
  /** A finished picture answers all reads within this time. */
  captureReuseMs: number
  /** Pictures of different widths taken at the same time; further ones wait. */
  maxCapturesAtOnce: number
  /** Readers that wait for a picture; further reads fail at once. */
  maxCaptureReaders: number
}

/** Sizes in bytes, times in milliseconds. */
export const defaultCaptureLimits: Readonly<CaptureLimits> = {
  captureMs: defaultLimits.captureMs,
  captureReuseMs: 250,
  maxCapturesAtOnce: 1,
  maxCaptureReaders: 64,
}

/** The defaults with the given bounds in their place. */
export function resolveCaptureLimits(bounds: Partial<CaptureLimits> = {}): CaptureLimits {
  return { ...defaultCaptureLimits, ...bounds }
}
