import { testGatewayView } from './gateway-view-suite.ts'

testGatewayView(Number(process.env.GATEWAY_INSTANCES ?? 3), 1)
