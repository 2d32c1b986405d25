import { describeIsolation } from './isolation-suite.ts'

describeIsolation(Number(process.env.FUZZ_CASES ?? 1000))
