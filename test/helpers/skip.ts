/**
 * Skips the running test, or the whole suite when called in a `before` hook, and says why:
 * the reporter prints the reason, and in CI counts it as a failure.
 */
export function skipBecause(context: Mocha.Context, reason: string): never {
  const running: (Mocha.Runnable & { type?: string }) | undefined = context.test
  // Of a skipped test, a worker passes on the title and the error, and nothing of its suite.
  const explain = (test: Mocha.Runnable) => Object.assign(test, { err: new Error(reason) })
  if (running?.type === 'hook') running.parent?.eachTest(explain)
  else if (running !== undefined) explain(running)
  return context.skip()
}
