import { testGatewayPush } from './gateway-push-suite.ts'

testGatewayPush()
