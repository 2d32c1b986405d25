import { testGatewayView } from '../e2e/gateway-view-suite.ts'

testGatewayView(Number(process.env['GATEWAY_INSTANCES'] ?? 20), 3)
