import { expect } from 'chai'
import { configPath } from '../../../src/lib/config/paths.ts'

describe('configPath', () => {
  const cases: [env: Record<string, string | undefined>, path: string][] = [
    [{}, '/home/alice/.config/service-cli/config.toml'],
    [{ XDG_CONFIG_HOME: '' }, '/home/alice/.config/service-cli/config.toml'],
    [{ XDG_CONFIG_HOME: 'relative' }, '/home/alice/.config/service-cli/config.toml'],
    [{ XDG_CONFIG_HOME: '/etc/x' }, '/etc/x/service-cli/config.toml'],
    [{ LOCALAPPDATA: '/elsewhere' }, '/home/alice/.config/service-cli/config.toml'],
  ]
  for (const [env, path] of cases) {
    it(`is ${path} with ${JSON.stringify(env)}`, () => {
      expect(configPath(env, '/home/alice')).to.equal(path)
    })
  }
})
