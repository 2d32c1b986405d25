import { expect } from 'chai'
import { configPath, homeFolder } from '../../../src/lib/config/paths.ts'

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

describe('homeFolder', () => {
  for (const home of ['', 'relative', './here']) {
    it(`refuses HOME=${JSON.stringify(home)}`, () => {
      expect(() => homeFolder(() => home))
        .to.throw(`HOME "${home}" is not an absolute path`)
        .with.property('code', 'config_invalid')
    })
  }

  it('refuses a user without a home folder', () => {
    const find = () => {
      throw new Error('ENOENT')
    }
    expect(() => homeFolder(find)).to.throw('HOME "" is not an absolute path')
  })
})
