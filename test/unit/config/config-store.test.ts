import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { readConfig, updateConfig, withLogin } from '../../../src/lib/config/config-file.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { failureOf } from '../../helpers/failure.ts'

const url = 'https://registry.example'

describe('the file of the configuration', () => {
  let base: string
  let folder: string
  let path: string
  beforeEach(() => {
    base = newFolder()
    folder = join(base, 'service-cli')
    path = join(folder, 'config.toml')
  })

  const save = (username = 'a') =>
    updateConfig(path, config =>
      withLogin(config, url, { username, access_token: new Secret('t') }),
    )

  it('never overwrites a damaged file', async () => {
    await save()
    const damaged = 'default_registry = "https://x.example'
    fs.writeFileSync(path, damaged)
    for (const run of [() => readConfig(path), save]) {
      const { code, message, hint } = await failureOf(run)
      expect(code).to.equal('config_invalid')
      expect(message).to.match(/config\.toml:1:\d+ is not valid TOML$/)
      expect(hint).to.contain(`move ${path} away`)
    }
    expect(fs.readFileSync(path, 'utf8')).to.equal(damaged)
  })

  it('loses no change of eight writers at once', async () => {
    const write = () =>
      updateConfig(path, config => {
        const count = Number(config.registries[url]?.username ?? 0) + 1
        return withLogin(config, url, { username: String(count) })
      })
    await Promise.all(Array.from({ length: 8 }, write))
    expect((await readConfig(path)).registries[url]?.username).to.equal('8')
  })
})
