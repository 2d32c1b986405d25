import { testGatewayView } from './gateway-view-suite.ts'

testGatewayView(3, 1)
