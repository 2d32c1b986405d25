/**
 * Skips the running test, or the whole suite when called in a `before` hook, and says why:
 * the reporter prints the reason, and in CI counts it as a failure.
 */
export function skipBecause(context: Mocha.Context, reason: string): never {
  const { test } = context
  const skipped = test?.type === 'hook' ? test.parent : test
  if (skipped !== undefined) Object.assign(skipped, { skipReason: reason })
  return context.skip()
}
