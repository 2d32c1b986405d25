import { describeEndpoint } from './endpoint-suite.ts'

describeEndpoint(Number(process.env.FUZZ_CASES ?? 2000))
