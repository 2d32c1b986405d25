import { describeFuzz } from '../e2e/fuzz-suite.ts'

const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000)
describeFuzz(Number(process.env.FUZZ_CASES ?? 100_000), seed)
