/**
 * Runs, and returns the rejections that no one handled meanwhile. Each of them ends a process; mocha
 * passes over them.
 */
export async function unhandledDuring(run: () => Promise<void>): Promise<unknown[]> {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  try {
    await run()
  } finally {
    process.off('unhandledRejection', note)
  }
  return unhandled
}
