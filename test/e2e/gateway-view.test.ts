import { testGatewayView } from './gateway-view-suite.ts'

testGatewayView(4, 1)
