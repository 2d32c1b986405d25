const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const
type StopSignal = keyof typeof numbers

interface StopSignals {
  /** Settles with the first signal. */
  readonly received: Promise<StopSignal>
  /** Restores the default signal handling. */
  dispose(): void
}

/** The first signal asks to stop; the second ends the process at once. */
export function watchStopSignals(): StopSignals {
  const { promise, resolve } = Promise.withResolvers<StopSignal>()
  let asked = false
  const onSignal = (signal: NodeJS.Signals): void => {
    if (asked) process.exit(128 + numbers[signal as StopSignal])
    asked = true
    resolve(signal as StopSignal)
  }
  const names = Object.keys(numbers) as StopSignal[]
  for (const name of names) process.on(name, onSignal)
  return {
    received: promise,
    dispose: () => {
      for (const name of names) process.off(name, onSignal)
    },
  }
}

interface StopRequest {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal
  /** Restores the default signal handling. */
  dispose(): void
}

/** `watchStopSignals` as an `AbortSignal`. */
export function watchStopRequest(): StopRequest {
  const { received, dispose } = watchStopSignals()
  const stop = new AbortController()
  void received.then(() => stop.abort())
  return { signal: stop.signal, dispose }
}
