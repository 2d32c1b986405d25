import { testStandby } from '../e2e/gateway-standby-suite.ts'

testStandby(Number(process.env['TAKEOVER_ROUNDS'] ?? 20))
