import { gatewayDefaults } from '../../src/server/gateway/limits.ts'
import { resolveMcpLimits } from '../../src/server/mcp/limits.ts'

/** The bounds of all servers, those that no flag moves included. */
export const defaultBounds = { ...resolveMcpLimits(), ...gatewayDefaults }

export type Bounds = typeof defaultBounds

/** The defaults with smaller bounds in their place. */
export function boundsWith(given: Partial<Bounds> = {}): Bounds {
  return { ...defaultBounds, ...given }
}
