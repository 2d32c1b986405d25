// Replaces bounds that no flag moves, for a test that starts the real program (`--bound=NAME=NUMBER`).
import { defaultGatewayLimits } from '../../dist/lib/config/gateway-limits.js'
import { defaultLimits } from '../../dist/lib/config/limits.js'
import { defaultBridgeLimits } from '../../dist/lib/mcp/bridge/limits.js'
import { defaultAccountLimits } from '../../dist/server/accounts/limits.js'

const places = [
  defaultLimits,
  defaultGatewayLimits,
  defaultAccountLimits,
  defaultBridgeLimits,
]
for (const bound of (process.env.TEST_BOUNDS ?? '').split(' ')) {
  const [name = '', value] = bound.split('=')
  const place = places.find(defaults => name in defaults)
  if (place === undefined) throw new Error(`there is no bound ${name}`)
  place[name] = Number(value)
}
delete process.env.TEST_BOUNDS
