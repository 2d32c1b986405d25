/** Runs something later. Injected, so that tests can move time. */
export interface Timer {
  /** Returns the cancel. */
  after(delayMs: number, run: () => void): () => void
}

/** Never keeps the process alive. */
export const systemTimer: Timer = {
  after(delayMs, run) {
    const handle = setTimeout(run, delayMs)
    handle.unref()
    return () => clearTimeout(handle)
  },
}
