import { describeEndpoint } from '../properties/endpoint-suite.ts'
import { describeIsolation } from '../properties/isolation-suite.ts'

const cases = Number(process.env.FUZZ_CASES ?? 100_000)
describeEndpoint(cases)
describeIsolation(cases)
