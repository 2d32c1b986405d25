import { describeIncoming } from './incoming-suite.ts'

describeIncoming(Number(process.env.FUZZ_CASES ?? 200))
