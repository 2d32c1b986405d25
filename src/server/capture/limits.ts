import { maxTimerMs, resolveBounds } from '../../lib/util/bounds.ts'

/**
 * Every bound of window capture, with its default. `docs/limits.md` has one row for each; a test
 * holds the two against each other.
 */
export interface CaptureLimits {
  /** Bytes of a picture before base64; a larger one is scaled down until it fits. */
  maxCaptureBytes: number
  /** Pixels of the width of a picture; a wider window is scaled down. */
  maxCaptureWidth: number
  /** One way to a picture must give it within this time; then the next one is tried. */
  captureMs: number
  /** A finished picture is given to whoever asks within this time. */
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

const KiB = 1024

/** Sizes in bytes, times in milliseconds; frozen. */
export const defaultCaptureLimits: Readonly<CaptureLimits> = Object.freeze({
  // 4.9 MB as base64: clients take blobs of about 5 MB.
  maxCaptureBytes: 3584 * KiB,
  maxCaptureWidth: 8192,
  captureMs: 10_000,
  captureReuseMs: 250,
  maxCapturesAtOnce: 1,
  maxCaptureReaders: 64,
  captureProbeIntervalMs: 30_000,
  // More than the slowest backend gives itself.
  captureProbeMs: 6000,
  captureDoubtMs: 1000,
})

/** Bounds that mean nothing when they are 0. */
const positive: readonly string[] = [
  'maxCaptureBytes',
  'maxCaptureWidth',
  'maxCapturesAtOnce',
  'captureMs',
  'captureProbeIntervalMs',
]

/**
 * The defaults with the given ones in their place; undefined counts as not given. Throws
 * `TypeError` for an unknown name, and for a value that is no whole number of its range.
 */
export function resolveCaptureLimits(overrides: Partial<CaptureLimits> = {}): CaptureLimits {
  return resolveBounds(defaultCaptureLimits, overrides, name => [
    positive.includes(name) ? 1 : 0,
    name.endsWith('Ms') ? maxTimerMs : Number.MAX_SAFE_INTEGER,
  ])
}
