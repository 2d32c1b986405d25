import { testGatewayPush } from '../e2e/gateway-push-suite.ts'

testGatewayPush(1000)
