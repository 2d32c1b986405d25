import { testStandby } from './gateway-standby-suite.ts'

testStandby(Number(process.env.TAKEOVER_ROUNDS ?? 1))
