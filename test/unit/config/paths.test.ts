import { expect } from 'chai'
import { configPath, homeFolder } from '../../../src/lib/config/paths.ts'
import { withEnv } from '../../helpers/in-process.ts'

describe('configPath', () => {
  const cases: [env: Record<string, string | undefined>, path: string][] = [
    [{}, '/home/alice/.config/service-cli/config.toml'],
    [{ XDG_CONFIG_HOME: '' }, '/home/alice/.config/service-cli/config.toml'],
    [{ XDG_CONFIG_HOME: 'relative' }, '/home/alice/.config/service-cli/config.toml'],
    [{ XDG_CONFIG_HOME: '/etc/x' }, '/etc/x/service-cli/config.toml'],
  ]
  for (const [env, path] of cases) {
    it(`is ${path} with ${JSON.stringify(env)}`, () =>
      withEnv({ HOME: '/home/alice' }, async () => {
        expect(configPath(env)).to.equal(path)
      }))
  }
})

describe('homeFolder', () => {
  for (const home of ['', 'relative', './here']) {
    it(`refuses HOME=${JSON.stringify(home)}`, () =>
      withEnv({ HOME: home }, async () => {
        expect(homeFolder)
          .to.throw(`HOME "${home}" is not an absolute path`)
          .with.property('code', 'config_invalid')
      }))
  }
})
