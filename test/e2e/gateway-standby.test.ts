import { testStandby } from './gateway-standby-suite.ts'

testStandby(1)
