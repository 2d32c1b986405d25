import { testGatewayPush } from './gateway-push-suite.ts'

// So much because a machine that runs all the tests is a slow one.
testGatewayPush(5000)
