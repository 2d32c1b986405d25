/** The end of a server that runs. */
export interface Stoppable {
  /** Ends the server, once. Resolves when it has stopped, also when that failed. */
  stop(): Promise<void>
  /** Settles when the server has stopped for any reason; rejects when that failed. */
  readonly closed: Promise<void>
}

/** `end` is called at most once. */
export function stoppable(end: () => Promise<unknown>): Stoppable {
  const closed = Promise.withResolvers<void>()
  let stopping: Promise<void> | null = null
  return {
    closed: closed.promise,
    stop: () => (stopping ??= end().then(() => closed.resolve(), closed.reject)),
  }
}
