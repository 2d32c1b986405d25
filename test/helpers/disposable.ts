/** The same for `await using`: it is stopped at the end of the block. */
export function disposable<Running extends { stop(): Promise<unknown> }>(
  running: Running,
): Running & AsyncDisposable {
  return Object.assign(running, { [Symbol.asyncDispose]: async () => void (await running.stop()) })
}
