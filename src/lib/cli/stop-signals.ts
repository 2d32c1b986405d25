const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const
type StopSignal = keyof typeof numbers

/** The first signal asks to stop; the second ends the process at once. */
export function watchStopSignals(): {
  received: Promise<StopSignal>
  signal: AbortSignal
  dispose(): void
} {
  const { promise, resolve } = Promise.withResolvers<StopSignal>()
  const stop = new AbortController()
  const onSignal = (name: NodeJS.Signals): void => {
    if (stop.signal.aborted) process.exit(128 + numbers[name as StopSignal])
    resolve(name as StopSignal)
    stop.abort()
  }
  const names = Object.keys(numbers) as StopSignal[]
  for (const name of names) process.on(name, onSignal)
  return {
    /** Settles with the first signal. */
    received: promise,
    /** Aborted by the first signal. */
    signal: stop.signal,
    /** Restores the default signal handling. */
    dispose() {
      for (const name of names) process.off(name, onSignal)
    },
  }
}
