import { expect } from 'chai'
import { inspect } from 'node:util'
import {
  emptyConfig,
  formatConfig,
  parseConfig,
  withLogin,
  withoutLogin,
  ConfigStore,
} from '../../../src/lib/config/config-file.ts'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { newFolder } from '../../helpers/cleanup.ts'
import { failureOf } from '../../helpers/failure.ts'

const studio = 'https://registry.studio.example'
const other = 'https://other.example'
const path = '/home/alice/config.toml'
const parsed = (text: string) => parseConfig(text, path)

describe('configuration file', () => {
  it('reads every key of a registry, and shows no token when it is printed', () => {
    const config = parsed(`
      default_registry = "${studio}"
      [registries."${studio}"]
      username = "alice"
      email = "alice@studio.example"
      access_token = "secret-a"
      access_expires_at = "2026-11-22T10:00:00Z"
      refresh_token = "secret-r"
      refresh_expires_at = "2026-12-21T10:00:00+01:00"`)
    expect(config.defaultServer).to.equal(studio)
    const login = config.logins.get(studio)
    expect(login).to.deep.include({
      username: 'alice',
      email: 'alice@studio.example',
      accessExpiresAtMs: Date.UTC(2026, 10, 22, 10),
      refreshExpiresAtMs: Date.UTC(2026, 11, 21, 9),
    })
    expect(login?.accessToken?.reveal()).to.equal('secret-a')
    expect(login?.refreshToken?.reveal()).to.equal('secret-r')
    expect(inspect(config, { depth: 9 }) + JSON.stringify([...config.logins])).not.to.match(
      /secret-/,
    )
  })

  it('is written as it is read', () => {
    const login = { username: 'alice', accessToken: new Secret('abc'), accessExpiresAtMs: 1000 }
    const written = formatConfig(withLogin(emptyConfig, studio, login))
    expect(written).to.include(`default_registry = "${studio}"`)
    expect(written).to.include('access_expires_at = "1970-01-01T00:00:01.000Z"')
    expect(formatConfig(parsed(written))).to.equal(written)
  })

  const token = 'svc_SECRETSECRETSECRET'
  const broken: [why: string, text: string, message: string][] = [
    ['a quote is missing', `a = 1\nb = "${token}`, `${path}:2:5 is not valid TOML`],
    ['a token stands bare', `access_token = ${token}`, `${path}:1:16 is not valid TOML`],
    ['it is nested too deeply', `a = ${'['.repeat(5000)}`, 'is not valid TOML'],
    ['registries is a text', 'registries = "x"', `${path} has an invalid value: registries`],
    [
      'an entry is a text',
      `registries."${studio}" = "${token}"`,
      `has an invalid value: registries["${studio}"]`,
    ],
    [
      'a token holds a line break',
      `[registries."${studio}"]\naccess_token = "${token}\\n"`,
      `has an invalid value: registries["${studio}"].access_token`,
    ],
    [
      'a token is a number',
      `[registries."${studio}"]\nrefresh_token = 5`,
      `has an invalid value: registries["${studio}"].refresh_token`,
    ],
    [
      'a time is none',
      `[registries."${studio}"]\naccess_expires_at = "${token}"`,
      `has an invalid value: registries["${studio}"].access_expires_at`,
    ],
    [
      'a key is mistyped',
      `[registries."${studio}"]\ncafile = "${token}"`,
      `has an unknown key: registries["${studio}"].cafile`,
    ],
  ]
  for (const [why, text, message] of broken) {
    it(`says what is wrong without quoting it when ${why}`, () => {
      expect(() => parsed(text))
        .to.throw(ServiceError, message)
        .with.property('code', 'config_invalid')
      expect(() => parsed(text)).not.to.throw(token)
    })
  }
})

describe('saved logins', () => {
  const login = {
    username: 'alice',
    email: 'alice@x.example',
    accessToken: new Secret('old'),
    accessExpiresAtMs: 1000,
    refreshToken: new Secret('srt_old'),
    refreshExpiresAtMs: 2000,
  }
  const bob = { username: 'bob', accessToken: new Secret('bobs') }
  const before = {
    defaultServer: studio,
    logins: new Map([
      [studio, login],
      [other, bob],
    ]),
  }

  it('make the first server the default, and no later one', () => {
    const first = withLogin(emptyConfig, other, bob)
    expect(first.defaultServer).to.equal(other)
    expect(withLogin(first, studio, login).defaultServer).to.equal(other)
  })

  it('go at a logout, and their server stays the default when no other is left', () => {
    const after = withoutLogin(before, studio)
    expect(after.logins.get(studio)).to.equal(undefined)
    expect(after.defaultServer).to.equal(other)
    expect(withoutLogin(withoutLogin(before, other), studio).defaultServer).to.equal(studio)
  })
})

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
