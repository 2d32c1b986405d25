import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { type AuthFlags, readAuth } from '../../src/commands/auth-flags.ts'
import type { Reached } from '../../src/server/http/listen-options.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { makeKeys, type TestKeys } from '../helpers/keyed-server.ts'
import { givenMembers } from '../helpers/fakes.ts'

describe('readAuth', () => {
  let keys: TestKeys
  beforeEach(async () => (keys = await makeKeys()))

  const read = (
    flags: Partial<AuthFlags>,
    env: NodeJS.ProcessEnv = {},
    place: Partial<Reached> = {},
  ) =>
    readAuth(
      { host: '127.0.0.1', ...place },
      { 'allow-unauthenticated': false, ...flags },
      { XDG_CONFIG_HOME: keys.folder, ...env },
    ).then(givenMembers)
  /** The mode, or the error. */
  const outcome = (...asked: Parameters<typeof read>) =>
    read(...asked).then(
      settings => String((settings as { mode: string }).mode),
      error => `${error.code}: ${error.message}`,
    )

  /** What the keys file says. */
  const files: Record<string, () => Promise<unknown>> = {
    missing: async () => {},
    keyed: () => keys.create('anna'),
    empty: () => keys.create('anna').then(() => keys.revoke('anna')),
    off: () => keys.create('anna').then(() => keys.off()),
  }
  const env = { SERVICE_MCP_API_KEY: 'k' }
  const cases: [
    file: string,
    asked: AuthFlags['auth'],
    env: NodeJS.ProcessEnv,
    expected: string,
  ][] = [
    ['missing', undefined, {}, 'none'],
    ['missing', undefined, env, 'api-key'],
    ['missing', 'api-key', {}, 'api-key'],
    ['missing', 'none', env, 'usage_invalid'],
    ['missing', 'oauth', env, 'usage_invalid'],
    ['keyed', undefined, {}, 'api-key'],
    ['keyed', undefined, env, 'api-key'],
    ['keyed', 'none', {}, 'usage_invalid'],
    ['keyed', 'oauth', {}, 'usage_invalid'],
    ['empty', undefined, {}, 'api-key'],
    ['empty', 'none', {}, 'usage_invalid'],
    ['off', undefined, {}, 'none'],
    ['off', undefined, env, 'api-key'],
    ['off', 'none', {}, 'none'],
    ['off', 'api-key', {}, 'api-key'],
  ]
  for (const [file, asked, given, expected] of cases) {
    const key = given === env ? ', a key in the environment' : ''
    it(`answers ${expected} to ${asked ?? 'no mode'} with the file ${file}${key}`, async () => {
      await files[file]?.()
      const flags = {
        auth: asked,
        'oauth-issuer': asked === 'oauth' ? 'https://a.example' : undefined,
      }
      expect(await outcome(flags, given)).to.match(new RegExp(`^${expected}`))
    })
  }

  it('lets keys off open a server that only this machine reaches, unless a key was asked for', async () => {
    const mayOpen = async (...asked: Parameters<typeof read>) =>
      ((await read(...asked)) as { mayOpen?: boolean }).mayOpen
    await keys.create('anna')
    const meant = { 'allow-unauthenticated': true }
    expect(await mayOpen({})).to.equal(true)
    expect(await mayOpen({}, {}, { host: '0.0.0.0' })).to.equal(false)
    expect(await mayOpen(meant, {}, { host: '0.0.0.0' })).to.equal(true)
    expect(await mayOpen({ auth: 'api-key' })).to.equal(false)
    expect(await mayOpen({}, env)).to.equal(false)
  })

  it('takes a named file that is missing for one by which clients need a key', async () => {
    expect(await outcome({ 'keys-file': join(keys.folder, 'none.json') })).to.equal('api-key')
  })

  it('never takes a damaged file for none', async () => {
    await keys.create('anna')
    await writeFile(keys.path, '{')
    for (const auth of [undefined, 'none', 'api-key', 'oauth'] as const) {
      expect(await outcome({ auth, 'oauth-issuer': 'https://a.example' }), auth).to.match(
        /^config_invalid: .*client-keys\.json is damaged/,
      )
    }
  })

  it('names whose key would be ignored, and not the key', async () => {
    const file = join(newFolder(), 'key')
    await writeFile(file, 'the-secret', { mode: 0o600 })
    const fromFile = await outcome({ auth: 'none', 'api-key-file': file })
    const fromVariable = await outcome({ auth: 'none' }, { SERVICE_MCP_API_KEY: 'the-secret' })
    expect(fromFile).to.equal('usage_invalid: --auth none would ignore the key of --api-key-file')
    expect(fromVariable).to.contain('the key of SERVICE_MCP_API_KEY')
  })

  it('lets other machines in with authentication, or when it is meant', async () => {
    const oauth = { auth: 'oauth', 'oauth-issuer': 'https://a.example' } as const
    const outside: [place: Partial<Reached>, flag: string][] = [
      [{ host: '0.0.0.0' }, '--host'],
      [{ publicUrl: 'https://mcp.studio.example' }, '--public-url'],
      [{ publicUrl: 'http://[2001:db8::1]:8765/x/' }, '--public-url'],
      [{ trustedProxies: ['127.0.0.1'] }, '--trusted-proxy'],
    ]
    for (const [place, flag] of outside) {
      expect(await outcome({}, {}, place)).to.match(
        new RegExp(`^usage_invalid: ${flag} .* exposes the server to the network`),
      )
      expect(await outcome({ 'allow-unauthenticated': true }, {}, place)).to.equal('none')
      expect(await outcome(oauth, {}, place)).to.equal('oauth')
    }
    for (const publicUrl of ['http://localhost:1', 'https://127.0.0.1', 'http://[::1]:8765']) {
      expect(await outcome({}, {}, { publicUrl })).to.equal('none')
    }
    await keys.create('anna')
    for (const [place] of outside) expect(await outcome({}, {}, place)).to.equal('api-key')
  })

  const wrong: [flags: Partial<AuthFlags>, message: string][] = [
    [{ auth: 'oauth' }, '--auth oauth needs the provider'],
    [{ 'oauth-issuer': 'https://a.example' }, '--oauth-issuer is for --auth oauth'],
    [{ auth: 'oauth', 'oauth-issuer': 'http://login.example' }, '--oauth-issuer must be https'],
    [{ auth: 'oauth', 'oauth-issuer': 'login.example' }, '--oauth-issuer must be https'],
    [{ auth: 'oauth', 'oauth-issuer': 'https://a.example?x=1' }, 'without user name'],
  ]
  for (const [flags, message] of wrong) {
    it(`refuses ${JSON.stringify(flags)}`, async () => {
      expect(await outcome(flags))
        .to.match(/^usage_invalid: /)
        .and.to.contain(message)
    })
  }
})
