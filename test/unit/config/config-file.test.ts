import { expect } from 'chai'
import fc from 'fast-check'
import { inspect } from 'node:util'
import {
  formatConfig,
  parseConfig,
  type SavedLogin,
  type ServerEntry,
} from '../../../src/lib/config/config-file.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { codePoint } from '../../helpers/code-point.ts'

const studio = 'https://registry.studio.example'

function parsed(text: string) {
  const result = parseConfig(text)
  if (!result.ok) throw new Error(result.failure.what)
  return result.value
}

const entryOf = (login: SavedLogin): ServerEntry => ({ login })

describe('configuration file', () => {
  it('reads every key of a registry', () => {
    const config = parsed(`
      version = 1
      default_registry = "${studio}"
      [registries."${studio}"]
      username = "alice"
      email = "alice@studio.example"
      access_token = "abc"
      access_expires_at = "2026-11-22T10:00:00Z"
      refresh_token = "srt_1"
      refresh_expires_at = "2026-12-21T10:00:00+01:00"
      ca_file = "studio.pem"`)
    expect(config.defaultServer).to.equal(studio)
    const entry = config.servers.get(studio)
    expect(entry?.caFile).to.equal('studio.pem')
    const login = entry?.login
    expect(login).to.deep.include({
      username: 'alice',
      email: 'alice@studio.example',
      accessExpiresAtMs: Date.UTC(2026, 10, 22, 10),
      refreshExpiresAtMs: Date.UTC(2026, 11, 21, 9),
    })
    expect(login?.accessToken?.reveal()).to.equal('abc')
    expect(login?.refreshToken?.reveal()).to.equal('srt_1')
  })

  it('takes the dates of TOML for times', () => {
    const config = parsed(`[registries."${studio}"]\naccess_expires_at = 2026-11-22T10:00:00Z`)
    const login = config.servers.get(studio)?.login
    expect(login?.accessExpiresAtMs).to.equal(Date.UTC(2026, 10, 22, 10))
  })

  it('keeps unknown keys with their types, at the top and in an entry', () => {
    const text = `
      float = 1.0
      huge = 9007199254740993
      when = 2026-11-22T10:00:00Z
      list = [ 1, "two", [ true ] ]
      [ui]
      colour = "red"
      [registries."${studio}"]
      nickname = "st"
      [registries."${studio}".deep]
      answer = 42
      [[plugins]]
      name = "b"`
    const written = formatConfig(parsed(text))
    for (const line of [
      'float = 1.0\n',
      'huge = 9007199254740993\n',
      'when = 2026-11-22T10:00:00.000Z\n',
      'list = [ 1, "two", [ true ] ]\n',
      '[ui]\ncolour = "red"\n',
      'nickname = "st"\n',
      'answer = 42\n',
      '[[plugins]]\nname = "b"\n',
    ]) {
      expect(written).to.include(line)
    }
    expect(formatConfig(parsed(written))).to.equal(written)
  })

  it('finds an entry whatever the spelling of its address', () => {
    const config = parsed('[registries."HTTPS://Registry.Studio.Example:443/"]\nusername = "a"')
    expect([...config.servers.keys()]).to.deep.equal([studio])
  })

  it('counts empty texts as absent', () => {
    const config = parsed(`default_registry = ""\n[registries."${studio}"]\naccess_token = ""`)
    expect(config.defaultServer).to.equal(undefined)
    expect(config.servers.get(studio)?.login).to.equal(undefined)
  })

  const token = 'svc_SECRETSECRETSECRET'
  const broken: [why: string, text: string, what: string, line?: number, column?: number][] = [
    ['a quote is missing', `a = 1\nb = "${token}`, 'is not valid TOML', 2, 5],
    ['a token stands bare', `access_token = ${token}`, 'is not valid TOML', 1, 16],
    ['__proto__ is a key', `[__proto__]\nx = "${token}"`, 'is not valid TOML', 1, 2],
    ['it is newer', 'version = 2', 'was written by a newer service-cli (version 2, known is 1)'],
    ['the version is a text', 'version = "1"', 'has a version that is no whole number'],
    ['registries is a text', 'registries = "x"', 'has something else than a table as registries'],
    [
      'an entry is a text',
      `registries."${studio}" = "${token}"`,
      `has something else than a table as registries."${studio}"`,
    ],
    [
      'an address holds a password',
      `[registries."https://user:${token}@x.example"]`,
      'has an entry of registries whose name is no address of an accounts server',
    ],
    [
      'one registry is there twice',
      `[registries."${studio}"]\n[registries."${studio}/"]`,
      `has registries."${studio}" twice, in two spellings`,
    ],
    [
      'a token holds a line break',
      `[registries."${studio}"]\naccess_token = "${token}\\n"`,
      `has spaces or characters that are in no token as registries."${studio}".access_token`,
    ],
    [
      'a token is a number',
      `[registries."${studio}"]\nrefresh_token = 5`,
      `has something else than a text as registries."${studio}".refresh_token`,
    ],
    [
      'a time is none',
      `[registries."${studio}"]\naccess_expires_at = "${token}"`,
      `has no RFC 3339 time as registries."${studio}".access_expires_at`,
    ],
  ]
  for (const [why, text, what, line, column] of broken) {
    it(`says what is wrong without quoting it when ${why}`, () => {
      const result = parseConfig(text)
      const place = line === undefined ? {} : { line, column }
      expect(result).to.deep.equal({ ok: false, failure: { what, ...place } })
      expect(inspect(result)).to.not.include(token)
    })
  }

  it('refuses a nesting that is too deep', () => {
    expect(parseConfig(`a = ${'['.repeat(5000)}${']'.repeat(5000)}`).ok).to.equal(false)
  })

  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), text => {
        parseConfig(text)
      }),
      { numRuns: 500 },
    )
  })

  it('gives back every name and token that it wrote', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1 }).map(text => text.toWellFormed())
    const token = fc.stringMatching(/^[\x21-\x7e]+$/)
    fc.assert(
      fc.property(name, token, (username, text) => {
        const entry = entryOf({ username, accessToken: new Secret(text) })
        const again = parsed(formatConfig({ servers: new Map([[studio, entry]]) }))
        const login = again.servers.get(studio)?.login
        expect(login?.username).to.equal(username)
        expect(login?.accessToken?.reveal()).to.equal(text)
      }),
      { numRuns: 200 },
    )
  })

  it('does not show a token when it is printed', () => {
    const config = parsed(`[registries."${studio}"]\naccess_token = "${token}"`)
    expect(inspect(config, { depth: 9 })).to.not.include(token)
    expect(JSON.stringify([...config.servers])).to.not.include(token)
  })
})
