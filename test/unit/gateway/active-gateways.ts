import type { ActiveGateway } from '../../../src/server/gateway/active-gateway.ts'

/** A gateway that says of itself what gateways say. */
export function makeActiveGateway(members: Partial<ActiveGateway> = {}): ActiveGateway {
  return {
    instanceId: '11111111-2222-4333-8444-555555555555',
    pid: 4711,
    pidStart: 'boot:100',
    version: '1.2.3',
    url: 'http://127.0.0.1:9765/mcp',
    startedAt: '2026-01-02T03:04:05.000Z',
    registry: 'abcdef0123456789',
    aggregate: true,
    ...members,
  }
}
