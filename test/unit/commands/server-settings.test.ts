import { expect } from 'chai'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type GatewayFlags, readGatewaySettings } from '../../../src/commands/gateway.ts'
import { openWarning } from '../../../src/commands/auth-flags.ts'
import { type AccountsFlags, readAccountsSettings } from '../../../src/commands/registry/index.ts'
import { type ServeFlags, readServeSettings } from '../../../src/commands/serve-settings.ts'
import Serve from '../../../src/commands/serve.ts'
import { readServeStdioSettings } from '../../../src/commands/stdio/serve.ts'
import { keysPath } from '../../../src/lib/config/paths.ts'
import { failureOf } from '../../helpers/failure.ts'
import { givenMembers } from '../../helpers/fakes.ts'
import { makeKeys } from '../../helpers/keyed-server.ts'

type Env = NodeJS.ProcessEnv

const keyed = (key: string) => ({ mode: 'api-key', key, keysFile: keysPath({}), mayOpen: false })
const open = { mode: 'none', keysFile: keysPath({}) }
const titleOf = (flags: object, env: Env) => JSON.stringify({ ...flags, ...env })

describe('settings of serve', () => {
  const defaults: ServeFlags = {
    port: 8765,
    host: '127.0.0.1',
    'dcc-type': 'unknown',
    'no-artefacts': false,
    'allow-unauthenticated': false,
  }
  const read = (flags: Partial<ServeFlags>, env: Env = {}) =>
    readServeSettings({ ...defaults, ...flags }, env)

  it('have nothing optional by default', async () => {
    expect(givenMembers(await read({}))).to.deep.equal({
      port: 8765,
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      dccType: 'unknown',
      artefacts: true,
      resources: true,
      tools: true,
      page: true,
      notes: true,
      auth: open,
      limits: {},
    })
  })

  it('come from no variable that the help of serve leaves out', async () => {
    const asked = new Set<string>()
    const get = (_: object, name: string | symbol) => void asked.add(String(name))
    await read({}, new Proxy<Env>({}, { get }))
    const [, documented = ''] = Serve.description.split('Environment:')
    const own = [...asked].filter(name => name.startsWith('SERVICE_'))
    expect(own.toSorted()).to.deep.equal(documented.match(/SERVICE_\w+/g)?.toSorted())
  })

  const proxies = ['127.0.0.1', '10.0.0.0/8', '[::1]', 'fd00::/8']
  const accepted: [flags: Partial<ServeFlags>, env: Env, expected: object][] = [
    [{ host: '[::1]' }, {}, { host: '::1' }],
    [{ 'allowed-host': ['Studio.example:80'] }, {}, { allowedHosts: ['studio.example:80'] }],
    [{ 'allowed-origin': ['https://A.example'] }, {}, { allowedOrigins: ['https://a.example'] }],
    [{ 'trusted-proxy': proxies, 'allow-unauthenticated': true }, {}, { trustedProxies: proxies }],
    [
      { 'tls-cert': 'c.pem', 'tls-key': '/k.pem' },
      {},
      { tls: { certFile: resolve('c.pem'), keyFile: '/k.pem' } },
    ],
    [
      { 'dcc-type': 'blender', name: 'Anna: Blender' },
      {},
      { dccType: 'blender', name: 'Anna: Blender' },
    ],
    [{ 'registry-dir': 'a' }, { SERVICE_REGISTRY_DIR: '/b' }, { registryDir: resolve('a') }],
    [{}, { SERVICE_REGISTRY_DIR: './b' }, { registryDir: resolve('b') }],
    [{}, { SERVICE_REGISTRY_DIR: '', SERVICE_MCP_API_KEY: '' }, {}],
    [{ 'scene-file': '../s.json' }, {}, { sceneFile: resolve('../s.json') }],
    [{ 'host-token-file': 't' }, {}, { hostTokenFile: resolve('t') }],
    [{}, { SERVICE_HOST_TOKEN: 'abc' }, { hostTokenEnv: 'abc' }],
    [{ host: '0.0.0.0' }, { SERVICE_MCP_API_KEY: 'abc' }, { host: '0.0.0.0', auth: keyed('abc') }],
    [{ limit: ['maxSessions=5', 'pageSize=10'] }, {}, { limits: { maxSessions: 5, pageSize: 10 } }],
    [
      { capture: 'native', 'capture-title': 'shot 010' },
      {},
      { capture: { mode: 'native', title: 'shot 010' } },
    ],
    [
      { 'no-artefacts': true, 'no-resources': true, 'no-notes': true },
      {},
      { artefacts: false, resources: false, notes: false },
    ],
    [{ gateway: true }, {}, { gateway: { port: 9765, aggregate: false } }],
    [
      { gateway: true, 'gateway-port': 9000, aggregate: true },
      {},
      { gateway: { port: 9000, aggregate: true } },
    ],
    // That of an accounts server on the same machine.
    [{}, { SERVICE_DATABASE_URL: 'postgres://db/accounts' }, {}],
  ]
  for (const [flags, env, expected] of accepted) {
    it(`are read from ${titleOf(flags, env)}`, async () => {
      const bare = givenMembers(await read({}))
      expect(givenMembers(await read(flags, env))).to.deep.equal({ ...bare, ...expected })
    })
  }

  it('say where the bucket is', async () => {
    const { artefacts } = await read({ artefacts: 's3://renders/a/b/' })
    expect(artefacts).to.deep.equal({ bucket: 'renders', prefix: 'a/b/' })
  })

  const refused: [flags: Partial<ServeFlags>, env: Env, message: string][] = [
    [{ host: '::' }, {}, '--host :: exposes the server to the network'],
    [{ host: 'a b' }, {}, '--host a b is neither'],
    [{ host: '' }, {}, 'is neither an address nor a host name'],
    [{ host: '[]' }, {}, '--host [] is neither'],
    [{ host: '0.0.0.0' }, { SERVICE_MCP_API_KEY: '' }, 'exposes the server to the network'],
    [{ 'public-url': 'https://a.example' }, {}, 'exposes the server to the network'],
    [{ 'tls-cert': '', 'tls-key': 'k.pem' }, {}, '--tls-cert is empty'],
    [{ 'trusted-proxy': ['localhost'] }, {}, '--trusted-proxy localhost is neither'],
    [{ 'trusted-proxy': ['::/0'] }, {}, '--trusted-proxy ::/0 is neither'],
    [{ 'public-url': 'nonsense' }, {}, '--public-url'],
    [{ 'public-url': 'ftp://a' }, {}, '--public-url'],
    [{ 'public-url': 'https://u:p@a' }, {}, '--public-url'],
    [{ 'allowed-host': ['http://a'] }, {}, '--allowed-host http://a'],
    [{ 'allowed-origin': ['null'] }, {}, '--allowed-origin null'],
    [{ 'dcc-type': 'Big App' }, {}, '--dcc-type Big App'],
    [{ name: 'a\nb' }, {}, '--name'],
    [{ artefacts: 's3://a:b@renders' }, {}, '--artefacts is not the address'],
    [{ artefacts: 's3://renders/../x' }, {}, '--artefacts is not the address'],
    [{ capture: 'host', 'capture-title': 'a' }, {}, '--capture-title is not for --capture host'],
    [{ capture: 'auto', 'capture-title': '' }, {}, '--capture-title must be'],
    [{ 'scene-file': '' }, {}, '--scene-file is empty'],
    [{ 'gateway-port': 9000 }, {}, '--gateway-port is for --gateway'],
    [{ aggregate: true }, {}, '--aggregate is for --gateway'],
    [{ limit: ['pageSize=1e3'] }, {}, 'NAME=NUMBER'],
    [{ 'api-key-file': '/nonexistent/key' }, { SERVICE_MCP_API_KEY: 'abc' }, 'no such file'],
    [{}, { SERVICE_MCP_API_KEY: 'two words' }, 'SERVICE_MCP_API_KEY has spaces'],
    [{}, { SERVICE_HOST_TOKEN: 'two words' }, 'SERVICE_HOST_TOKEN has spaces'],
  ]
  for (const [flags, env, message] of refused) {
    it(`refuse ${titleOf(flags, env)}`, async () => {
      const failure = await failureOf(() => read(flags, env))
      expect(failure.message).to.contain(message).and.not.contain('two words')
    })
  }

  it('refuse an unknown limit', async () => {
    const failure = await failureOf(() => read({ limit: ['maxSesions=5'] }))
    expect(failure.message).to.contain('unknown limit "maxSesions"')
    expect(failure).to.include({ hint: 'docs/reference.md lists the limits' })
  })

  describe('with --stdio', () => {
    const readStdio = (given: string[], flags: Partial<ServeFlags> = {}, env: Env = {}) =>
      readServeStdioSettings({ ...defaults, ...flags }, given, env)

    it('require a key when named keys exist', async () => {
      const keys = await makeKeys()
      const key = await keys.create('anna')
      const env = { XDG_CONFIG_HOME: keys.folder }
      const { code, hint } = await failureOf(() => readStdio(['stdio'], {}, env))
      expect(code).to.equal('config_invalid')
      expect(hint).to.contain('SERVICE_MCP_API_KEY')
      const { serve } = await readStdio([], {}, { ...env, SERVICE_MCP_API_KEY: key })
      const auth = { mode: 'api-key', key, keysFile: keys.path, mayOpen: false }
      expect(givenMembers(serve)).to.have.deep.property('auth', auth)
    })

    it('choose a free port and any application, unless they are given', async () => {
      const plain = await readStdio(['stdio'])
      expect([plain.serve.port, plain.dccType]).to.deep.equal([0, undefined])
      const given = await readStdio(['port', 'dcc-type'], { 'dcc-type': 'maya' })
      expect([given.serve.port, given.dccType]).to.deep.equal([8765, 'maya'])
    })
  })
})

describe('settings of gateway', () => {
  const defaults: GatewayFlags = { port: 9765, host: '127.0.0.1', 'allow-unauthenticated': false }
  const rows: [flags: Partial<GatewayFlags>, expected: object | string][] = [
    [{}, { port: 9765, tools: true, page: true, standby: true, auth: open, limits: {} }],
    [{ 'no-standby': true }, { standby: false }],
    [
      { 'no-tools': true, 'no-page': true },
      { tools: false, page: false },
    ],
    [{ catalog: 'c.json' }, { catalog: resolve('c.json') }],
    [{ host: '0.0.0.0' }, 'exposes the server to the network'],
    [{ 'trusted-proxy': ['127.0.0.1'] }, 'exposes the server to the network'],
    [{ catalog: '' }, '--catalog is empty'],
    [{ limit: ['electionRetryMs=500'] }, 'unknown limit "electionRetryMs"'],
  ]
  for (const [flags, expected] of rows) {
    const isRefused = typeof expected === 'string'
    it(`${isRefused ? 'refuse' : 'are read from'} ${JSON.stringify(flags)}`, async () => {
      const read = () => readGatewaySettings({ ...defaults, ...flags }, {})
      if (!isRefused) return expect(givenMembers(await read())).to.deep.include(expected)
      const failure = await failureOf(read)
      expect(failure.code).to.equal('usage_invalid')
      return expect(failure.message).to.contain(expected)
    })
  }
})

describe('settings of registry', () => {
  const defaults: AccountsFlags = { port: 8780, host: '127.0.0.1' }
  const home = join(homedir(), '.local', 'share', 'service-cli', 'registry')
  const data = { XDG_DATA_HOME: '/data' }
  const limit = ['accessTokenMs=3600000']
  const rows: [flags: Partial<AccountsFlags>, env: Env, expected: object | string][] = [
    [{}, {}, { port: 8780, host: '127.0.0.1', dataDir: home, limits: {} }],
    [{}, data, { dataDir: '/data/service-cli/registry' }],
    [{}, { XDG_DATA_HOME: 'relative' }, { dataDir: home }],
    [{ 'data-dir': 'mine' }, data, { dataDir: resolve('mine') }],
    [{ host: '0.0.0.0', registration: 'closed' }, {}, { host: '0.0.0.0', registration: 'closed' }],
    [{ limit }, {}, { limits: { accessTokenMs: 3_600_000 } }],
    [{ host: 'http://x' }, {}, '--host'],
    [{ 'public-url': 'https://user:secret@x' }, {}, '--public-url'],
    [{ 'data-dir': '' }, {}, '--data-dir'],
    [{ limit: ['accessTokenMs=0'] }, {}, 'accessTokenMs'],
    // A bound of another server.
    [{ limit: ['maxSessions=1'] }, {}, 'maxSessions'],
  ]
  for (const [flags, env, expected] of rows) {
    const isRefused = typeof expected === 'string'
    it(`${isRefused ? 'refuse' : 'are read from'} ${titleOf(flags, env)}`, async () => {
      const read = () => readAccountsSettings({ ...defaults, ...flags }, env)
      if (!isRefused) return expect(read()).to.deep.include(expected)
      const failure = await failureOf(read)
      expect(failure.code).to.equal('usage_invalid')
      return expect(failure.message).to.contain(expected).and.not.contain('secret')
    })
  }
})

describe('the warning of a server that asks for no key', () => {
  const here = { host: '127.0.0.1' }

  it('says who can read from it, and that a variable was meant to hold a key', () => {
    const key = { mode: 'api-key', key: 'k', keysFile: '/r/keys.json' } as const
    expect(openWarning({ ...here, auth: key }, {})).to.equal(null)
    const empty = openWarning(here, { SERVICE_MCP_API_KEY: '' })
    expect(empty?.level).to.equal('warn')
    expect(empty?.message).to.contain('(SERVICE_MCP_API_KEY is set but empty)')
    expect(openWarning(here, {})).to.deep.include({
      level: 'info',
      message: 'no key is required: every account of this machine can read what it serves',
    })
    const outside = [
      { host: '0.0.0.0' },
      { ...here, publicUrl: 'https://mcp.studio.example' },
      { ...here, trustedProxies: ['127.0.0.1'] },
    ]
    for (const settings of outside) {
      const warning = openWarning(settings, {})
      expect(warning?.level).to.equal('warn')
      expect(warning?.message).to.contain('everyone who can reach')
    }
  })
})
