import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { ConfigStore, withLogin } from '../../../src/lib/config/config-file.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { failureOf } from '../../helpers/failure.ts'

const url = 'https://registry.example'

describe('configuration store', () => {
  let base: string
  let folder: string
  let store: ConfigStore
  beforeEach(() => {
    base = newFolder()
    folder = join(base, 'service-cli')
    store = new ConfigStore(join(folder, 'config.toml'))
  })

  const save = (username = 'a') =>
    store.update(config => withLogin(config, url, { username, accessToken: new Secret('t') }))

  it('never overwrites a damaged file', async () => {
    await save()
    const damaged = 'default_registry = "https://x.example'
    fs.writeFileSync(store.path, damaged)
    for (const run of [() => store.read(), save]) {
      const { code, message, hint } = await failureOf(run)
      expect(code).to.equal('config_invalid')
      expect(message).to.match(/config\.toml:1:\d+ is not valid TOML$/)
      expect(hint).to.contain(`move ${store.path} away`)
    }
    expect(fs.readFileSync(store.path, 'utf8')).to.equal(damaged)
  })

  it('loses no change of eight writers at once', async () => {
    const writers = Array.from({ length: 8 }, () => new ConfigStore(store.path))
    await Promise.all(
      writers.map(writer =>
        writer.update(config => {
          const count = Number(config.logins.get(url)?.username ?? 0) + 1
          return withLogin(config, url, { username: String(count) })
        }),
      ),
    )
    expect((await store.read()).logins.get(url)?.username).to.equal('8')
  })
})
