import { describeFuzz } from './fuzz-suite.ts'

const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000)
describeFuzz(Number(process.env.FUZZ_CASES ?? 5000), seed)
