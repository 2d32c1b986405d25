import { expect } from 'chai'
import { inspect } from 'node:util'
import {
  formatConfig,
  onlyLogin,
  parseConfig,
  savedLogin,
  withLogin,
  withoutLogin,
  withoutTokens,
  withTokens,
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
    expect(config.defaultServer).to.equal(studio)
    const { login } = config.servers.get(studio) ?? {}
    expect(login).to.deep.include({
      username: 'alice',
      email: 'alice@studio.example',
      accessExpiresAtMs: Date.UTC(2026, 10, 22, 10),
      refreshExpiresAtMs: Date.UTC(2026, 11, 21, 9),
    })
    expect(login?.accessToken?.reveal()).to.equal('secret-a')
    expect(login?.refreshToken?.reveal()).to.equal('secret-r')
    expect(inspect(config, { depth: 9 }) + JSON.stringify([...config.servers])).not.to.match(
      /secret-/,
    )
  })

  it('keeps unknown keys, at the top and in an entry, and every known one', () => {
    const text = `
      huge = 9007199254740993
      when = 2026-11-22T10:00:00.000Z
      list = [ 1, "two", [ true ] ]
      [ui]
      colour = "red"
      [registries."${studio}"]
      nickname = "st"
      access_token = "abc"
      access_expires_at = "2026-11-22T10:00:00.000Z"
      [registries."${studio}".deep]
      answer = 42
      [[plugins]]
      name = "b"`
    const written = formatConfig(parsed(text))
    for (const line of text.split('\n').slice(1)) {
      expect(written).to.include(line.trim())
    }
    expect(formatConfig(parsed(written))).to.equal(written)
  })

  it('finds an entry whatever the spelling of its address, and takes empty text for none', () => {
    const config = parsed(`default_registry = ""
      [registries."HTTPS://Registry.Studio.Example:443/"]\naccess_token = ""`)
    expect([...config.servers.keys()]).to.deep.equal([studio])
    expect(config.defaultServer).to.equal(undefined)
    expect(savedLogin(config, studio)).to.equal(undefined)
  })

  const token = 'svc_SECRETSECRETSECRET'
  const broken: [why: string, text: string, message: string][] = [
    ['a quote is missing', `a = 1\nb = "${token}`, `${path}:2:5 is not valid TOML`],
    ['a token stands bare', `access_token = ${token}`, `${path}:1:16 is not valid TOML`],
    ['it is nested too deeply', `a = ${'['.repeat(5000)}`, 'is not valid TOML'],
    ['registries is a text', 'registries = "x"', `${path} has no table at registries`],
    [
      'an entry is a text',
      `registries."${studio}" = "${token}"`,
      `has no table at registries."${studio}"`,
    ],
    [
      'an address holds a password',
      `[registries."https://user:${token}@x.example"]`,
      'has a name in registries that is not a usable address',
    ],
    [
      'a token holds a line break',
      `[registries."${studio}"]\naccess_token = "${token}\\n"`,
      `has no usable token at registries."${studio}".access_token`,
    ],
    [
      'a token is a number',
      `[registries."${studio}"]\nrefresh_token = 5`,
      `has no text at registries."${studio}".refresh_token`,
    ],
    [
      'a time is none',
      `[registries."${studio}"]\naccess_expires_at = "${token}"`,
      `has no RFC 3339 time at registries."${studio}".access_expires_at`,
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
  const manual = { others: { colour: 'red' } }
  const bob = { login: { username: 'bob', accessToken: new Secret('bobs') } }
  const before = {
    defaultServer: studio,
    servers: new Map([
      [studio, { login, ...manual }],
      [other, bob],
    ]),
  }

  it('keep at a new login only what was set by hand', () => {
    const carol = { username: 'carol', accessToken: new Secret('new') }
    const entry = withLogin(before, studio, carol).servers.get(studio)
    expect(entry).to.deep.equal({ login: carol, ...manual })
  })

  it('make the first server the default, and no later one', () => {
    const first = withLogin({ servers: new Map() }, other, bob.login)
    expect(first.defaultServer).to.equal(other)
    expect(withLogin(first, studio, login).defaultServer).to.equal(other)
  })

  it('keep names and refresh token when only the access token is fresh', () => {
    const fresh = { accessToken: new Secret('new'), accessExpiresAtMs: 3000 }
    const after = savedLogin(withTokens(before, studio, fresh), studio)
    expect(after).to.deep.equal({ ...login, ...fresh })
    const ended = savedLogin(withoutTokens(before, studio), studio)
    expect(ended).to.deep.equal({ username: 'alice', email: 'alice@x.example' })
  })

  it('go at a logout, with an entry that holds nothing else and the default', () => {
    const after = withoutLogin(before, studio)
    expect(after.servers.get(studio)).to.deep.equal({ login: undefined, ...manual })
    expect(onlyLogin(after)).to.equal(other)
    const left = withoutLogin({ ...before, defaultServer: other }, other)
    expect(left.servers.has(other)).to.equal(false)
    expect(left.defaultServer).to.equal(undefined)
  })

  it('stay when that of another server is removed', () => {
    for (const change of [withoutTokens, withoutLogin]) {
      expect(change(before, 'https://unknown.example')).to.equal(before)
    }
  })
})
