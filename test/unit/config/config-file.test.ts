import { expect } from 'chai'
import { inspect } from 'node:util'
import {
  formatConfig,
  parseConfig,
  withLogin,
  withoutLogin,
} from '../../../src/lib/config/config-file.ts'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { Secret } from '../../../src/lib/util/secret.ts'

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
    expect(config.default_registry).to.equal(studio)
    const login = config.registries[studio]
    expect(login).to.deep.include({
      username: 'alice',
      email: 'alice@studio.example',
      access_expires_at: Date.UTC(2026, 10, 22, 10),
      refresh_expires_at: Date.UTC(2026, 11, 21, 9),
    })
    expect(login?.access_token?.reveal()).to.equal('secret-a')
    expect(login?.refresh_token?.reveal()).to.equal('secret-r')
    expect(inspect(config, { depth: 9 }) + JSON.stringify(config)).not.to.match(/secret-/)
  })

  it('is written as it is read', () => {
    const login = { username: 'alice', access_token: new Secret('abc'), access_expires_at: 1000 }
    const written = formatConfig(withLogin({ registries: {} }, studio, login))
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
    access_token: new Secret('old'),
    access_expires_at: 1000,
    refresh_token: new Secret('srt_old'),
    refresh_expires_at: 2000,
  }
  const bob = { username: 'bob', access_token: new Secret('bobs') }
  const before = { default_registry: studio, registries: { [studio]: login, [other]: bob } }

  it('make the first server the default, and no later one', () => {
    const first = withLogin({ registries: {} }, other, bob)
    expect(first.default_registry).to.equal(other)
    expect(withLogin(first, studio, login).default_registry).to.equal(other)
  })

  it('go at a logout, and their server stays the default when no other is left', () => {
    const after = withoutLogin(before, studio)
    expect(after.registries[studio]).to.equal(undefined)
    expect(after.default_registry).to.equal(other)
    expect(withoutLogin(withoutLogin(before, other), studio).default_registry).to.equal(studio)
  })
})
