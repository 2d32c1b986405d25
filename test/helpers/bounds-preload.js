// Replaces bounds that no flag moves, for a test that starts the real program (`--bound=NAME=NUMBER`).
import { serverDefaults } from '../../dist/server/http/limits.js'

for (const bound of (process.env.TEST_BOUNDS ?? '').split(' ')) {
  const [name = '', value] = bound.split('=')
  if (!(name in serverDefaults)) throw new Error(`there is no bound ${name}`)
  serverDefaults[name] = Number(value)
}
delete process.env.TEST_BOUNDS
