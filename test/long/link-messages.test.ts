import { describeIncoming } from '../server/host/link/incoming-suite.ts'

describeIncoming(Number(process.env.FUZZ_CASES ?? 100_000) / 10)
