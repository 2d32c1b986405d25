import type { Parameters } from 'fast-check'

/**
 * How often a property runs. A failure names its seed and path: with both in FUZZ_SEED and
 * FUZZ_PATH the same cases come again.
 */
export function replay<Case>(numRuns: number, budgetMs: number): Parameters<Case> {
  const { FUZZ_SEED, FUZZ_PATH } = process.env
  return {
    numRuns: Math.max(1, numRuns),
    ...(FUZZ_SEED === undefined ? {} : { seed: Number(FUZZ_SEED) }),
    ...(FUZZ_PATH === undefined ? {} : { path: FUZZ_PATH }),
    // Making a case smaller takes many runs: what was found by then is reported.
    interruptAfterTimeLimit: budgetMs,
    markInterruptAsFailure: true,
  }
}
