/**
 * Skips the running test, or the whole suite when called in a `before` hook, and says why:
 * the reporter prints the reason, and in CI counts it as a failure.
 */
export function skipBecause(context: Mocha.Context, reason: string): never {
  const running: (Mocha.Runnable & { type?: string }) | undefined = context.test
  const skipped = running?.type === 'hook' ? running.parent : running
  if (skipped !== undefined) Object.assign(skipped, { skipReason: reason })
  return context.skip()
}
