// Replaces bounds that no flag moves, for a test that starts the real program (`--bound=NAME=NUMBER`).
import { gatewayDefaults } from '../../dist/server/gateway/limits.js'
import { httpDefaults } from '../../dist/server/http/limits.js'

const places = [gatewayDefaults, httpDefaults]
for (const bound of (process.env.TEST_BOUNDS ?? '').split(' ')) {
  const [name = '', value] = bound.split('=')
  const place = places.find(defaults => name in defaults)
  if (place === undefined) throw new Error(`there is no bound ${name}`)
  place[name] = Number(value)
}
delete process.env.TEST_BOUNDS
