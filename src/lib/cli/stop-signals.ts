const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const
type StopSignal = keyof typeof numbers

interface StopSignals {
  /** Settles with the first signal. */
  readonly received: Promise<StopSignal>
  /** Aborted by the first signal. */
  readonly signal: AbortSignal
  /** Restores the default signal handling. */
  dispose(): void
}

/** The first signal asks to stop; the second ends the process at once. */
export function watchStopSignals(): StopSignals {
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
    received: promise,
    signal: stop.signal,
    dispose: () => {
      for (const name of names) process.off(name, onSignal)
    },
  }
}
