import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { decideMode, type FoundKeys } from '../../src/commands/auth-mode.ts'
import { type AuthFlags, type Reached, readAuth } from '../../src/commands/auth-settings.ts'
import type { NamedKey } from '../../src/lib/auth/keys-file.ts'
import { makeKeys, type TestKeys } from '../helpers/keyed-server.ts'
import { givenMembers } from '../helpers/given-members.ts'

const nowMs = Date.parse('2026-06-01T00:00:00Z')

function named(expiresAt: string | null): NamedKey {
  const createdAt = '2026-01-01T00:00:00.000Z'
  return { name: 'a', sha256: '', scope: 'write', createdAt, expiresAt }
}

const lasting = [named(null)]
const expired = [named('2026-05-31T23:59:59.999Z')]

describe('decideMode', () => {
  const env = 'SERVICE_MCP_API_KEY'
  const cases: [
    asked: 'none' | 'api-key' | 'oauth' | undefined,
    source: string | null,
    keys: readonly NamedKey[] | null,
    expected: string,
  ][] = [
    [undefined, null, null, 'none'],
    [undefined, env, null, 'api-key'],
    [undefined, env, lasting, 'api-key'],
    [undefined, null, [], 'config_invalid'],
    [undefined, env, [], 'api-key'],
    [undefined, null, [...expired, ...lasting], 'api-key'],
    ['api-key', null, expired, 'config_invalid'],
    ['api-key', null, lasting, 'api-key'],
    ['api-key', env, null, 'api-key'],
    ['none', env, null, 'usage_invalid'],
    ['none', null, expired, 'usage_invalid'],
    ['oauth', env, null, 'usage_invalid'],
    ['oauth', null, lasting, 'usage_invalid'],
  ]
  for (const [asked, source, keys, expected] of cases) {
    const what = keys === null ? 'no file' : `${keys.length} keys`
    const kind = keys === expired ? ', expired' : ''
    it(`${asked ?? 'nothing'} asked, key of ${source}, ${what}${kind}: ${expected}`, () => {
      const found: FoundKeys = { source, keysFile: '/r/keys.json', named: keys }
      const mode = decideMode(asked, found, nowMs)
      expect(mode.ok ? mode.value : mode.failure.code).to.equal(expected)
    })
  }

  it('says how to get a key', () => {
    const mode = decideMode('api-key', { source: null, keysFile: '/r/keys.json', named: null }, 0)
    expect(mode).to.have.nested.property('failure.hint').that.contains('service-cli keys create')
    const over = { source: null, keysFile: '/r/keys.json', named: expired }
    const unasked = decideMode(undefined, over, nowMs)
    expect(unasked).to.have.nested.property('failure.hint').that.contains('remove /r/keys.json')
  })
})

describe('readAuth', () => {
  let keys: TestKeys
  beforeEach(async () => (keys = await makeKeys()))
  afterEach(() => keys.remove())

  const read = (flags: Partial<AuthFlags>, env: NodeJS.ProcessEnv = {}, host = '127.0.0.1') =>
    readAuth(
      { host },
      { 'allow-unauthenticated': false, ...flags },
      { XDG_CONFIG_HOME: keys.folder, ...env },
    ).then(givenMembers)
  const refusal = (...asked: Parameters<typeof read>) =>
    read(...asked).then(
      settings => settings,
      error => `${error.code}: ${error.message}`,
    )

  it('finds the keys beside the configuration', async () => {
    const open = { mode: 'none', keysFile: keys.store.path }
    expect(await read({})).to.deep.equal(open)
    await keys.create('anna')
    const settings = { mode: 'api-key', keysFile: keys.store.path }
    expect(await read({})).to.deep.equal(settings)
    expect(await read({}, {}, '0.0.0.0')).to.deep.equal(settings)
    expect(await read({}, { SERVICE_MCP_API_KEY: 'k' })).to.deep.equal({ ...settings, key: 'k' })
    expect(await refusal({ auth: 'none' })).to.match(/usage_invalid: --auth none would ignore/)
    await keys.revoke('anna')
    expect(await refusal({})).to.contain('config_invalid: clients need a key')
    expect(await read({ auth: 'none' })).to.deep.equal(open)
  })

  it('never takes a damaged file for none', async () => {
    await keys.create('anna')
    await writeFile(keys.store.path, '{')
    for (const auth of [undefined, 'none', 'api-key', 'oauth'] as const) {
      expect(await refusal({ auth, 'oauth-issuer': 'https://a.example' }), auth).to.match(
        /^config_invalid: .*keys\.json is not JSON/,
      )
    }
  })

  it('names whose key would be ignored, and not the key', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'key-'))
    const file = join(folder, 'key')
    await writeFile(file, 'the-secret', { mode: 0o600 })
    const fromFile = await refusal({ auth: 'none', 'api-key-file': file })
    const fromVariable = await refusal({ auth: 'none' }, { SERVICE_MCP_API_KEY: 'the-secret' })
    await rm(folder, { recursive: true })
    expect(fromFile).to.equal('usage_invalid: --auth none would ignore the key of --api-key-file')
    expect(fromVariable).to.contain('the key of SERVICE_MCP_API_KEY')
  })

  it('lets other machines in with authentication, or when it is meant', async () => {
    expect(await refusal({ auth: 'none' }, {}, '0.0.0.0')).to.contain(
      'exposes the server to the network',
    )
    const meant = { auth: 'none', 'allow-unauthenticated': true } as const
    expect(await read(meant, {}, '0.0.0.0')).to.include({ mode: 'none' })
    const oauth = { auth: 'oauth', 'oauth-issuer': 'https://a.example' } as const
    expect(await read(oauth, {}, '0.0.0.0')).to.include({ mode: 'oauth' })
  })

  it('counts those as other machines that come through a proxy', async () => {
    const at = (place: Partial<Reached>, flags: Partial<AuthFlags> = {}) =>
      readAuth(
        { host: '127.0.0.1', ...place },
        { 'allow-unauthenticated': false, ...flags },
        { XDG_CONFIG_HOME: keys.folder },
      ).then(
        ({ mode }) => mode,
        error => `${error.code}: ${error.message}`,
      )
    const outside: Partial<Reached>[] = [
      { publicUrl: 'https://mcp.studio.example' },
      { publicUrl: 'http://[2001:db8::1]:8765/x/' },
      { trustedProxies: ['127.0.0.1'] },
    ]
    for (const place of outside) {
      const flag = place.publicUrl === undefined ? '--trusted-proxy' : '--public-url'
      expect(await at(place)).to.match(
        new RegExp(`^usage_invalid: ${flag} .* exposes the server to the network`),
      )
      expect(await at(place, { 'allow-unauthenticated': true })).to.equal('none')
    }
    for (const publicUrl of ['http://localhost:1', 'https://127.0.0.1', 'http://[::1]:8765']) {
      expect(await at({ publicUrl })).to.equal('none')
    }
    await keys.create('anna')
    for (const place of outside) expect(await at(place)).to.equal('api-key')
  })

  const wrong: [flags: Partial<AuthFlags>, message: string][] = [
    [{ auth: 'oauth' }, '--auth oauth needs the provider'],
    [{ 'oauth-issuer': 'https://a.example' }, '--oauth-issuer is for --auth oauth'],
  ]
  for (const [flags, message] of wrong) {
    it(`refuses ${JSON.stringify(flags)}`, async () => {
      expect(await refusal(flags))
        .to.match(/^usage_invalid: /)
        .and.to.contain(message)
    })
  }
})
