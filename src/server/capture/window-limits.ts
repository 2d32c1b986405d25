/** Bounds of pictures taken of a desktop’s windows. */
export interface WindowCaptureLimits {
  /** Windows that are looked at; what a display has beyond them is not seen. */
  maxWindows: number
  /** Windows of the window manager around an application's window. */
  maxWindowDepth: number
  /** Parents that are followed from a window's process to that of the application. */
  maxProcessDepth: number
  /** Pixels of a window; of a larger one no picture is taken. */
  maxWindowPixels: number
  /** Bytes of a title, a machine name or a list of a window that are read. */
  maxPropertyBytes: number
  /** Bytes of the file with the display's keys. */
  maxXauthorityBytes: number
  /** The display must have answered within this time. */
  displayTimeoutMs: number
  /** The optional package must have loaded, and told what windows there are, within this time. */
  libraryTimeoutMs: number
  /** A picture that is too large is made smaller at most so often. */
  maxEncodeRounds: number
  /** A thread that makes pictures ends after so long without one. */
  encoderIdleMs: number
}

/** Sizes in bytes, times in milliseconds; frozen. */
export const windowCaptureLimits: Readonly<WindowCaptureLimits> = Object.freeze({
  maxWindows: 1000,
  maxWindowDepth: 16,
  maxProcessDepth: 64,
  // 8K, and a little more.
  maxWindowPixels: 40_000_000,
  maxPropertyBytes: 16 * 1024,
  maxXauthorityBytes: 1024 * 1024,
  displayTimeoutMs: 3000,
  libraryTimeoutMs: 5000,
  maxEncodeRounds: 8,
  encoderIdleMs: 30_000,
})
