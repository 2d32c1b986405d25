import { expect } from 'chai'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import Serve from '../../../src/commands/serve.ts'
import { type ServeFlags, readServeSettings } from '../../../src/commands/serve-settings.ts'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { keysPath } from '../../../src/lib/config/paths.ts'
import { givenMembers } from '../../helpers/given-members.ts'

const defaults: ServeFlags = {
  port: 8765,
  host: '127.0.0.1',
  'dcc-type': 'unknown',
  'no-artefacts': false,
  'allow-unauthenticated': false,
}

const keyed = (key: string) => ({ mode: 'api-key', key, keysFile: keysPath({}) })

describe('readServeSettings', () => {
  it('has nothing optional by default', async () => {
    expect(givenMembers(await readServeSettings(defaults, {}))).to.deep.equal({
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
      auth: { mode: 'none', keysFile: keysPath({}) },
      limits: {},
    })
  })

  it('reads no variable that the help of serve leaves out', async () => {
    const read = new Set<string>()
    const env = new Proxy<NodeJS.ProcessEnv>(
      {},
      {
        get(_, name) {
          if (String(name).startsWith('SERVICE_')) read.add(String(name))
          return undefined
        },
      },
    )
    await readServeSettings(defaults, env)
    const [, documented = ''] = Serve.description.split('Environment:')
    expect([...read].toSorted()).to.deep.equal(documented.match(/SERVICE_\w+/g)?.toSorted())
  })

  const accepted: [flags: Partial<ServeFlags>, env: NodeJS.ProcessEnv, expected: object][] = [
    [{ host: '[::1]' }, {}, { host: '::1' }],
    [{ 'public-url': 'https://localhost/x' }, {}, { publicUrl: 'https://localhost/x' }],
    [{ 'allowed-host': ['Studio.example:80'] }, {}, { allowedHosts: ['studio.example:80'] }],
    [{ 'allowed-origin': ['https://A.example'] }, {}, { allowedOrigins: ['https://a.example'] }],
    [
      { 'allowed-origin': ['https://x.example:443'] },
      {},
      { allowedOrigins: ['https://x.example'] },
    ],
    [{ 'allowed-origin': ['http://x:8080'] }, {}, { allowedOrigins: ['http://x:8080'] }],
    [
      {
        'trusted-proxy': ['127.0.0.1', '10.0.0.0/8', '[::1]', 'fd00::/8'],
        'allow-unauthenticated': true,
      },
      {},
      { trustedProxies: ['127.0.0.1', '10.0.0.0/8', '[::1]', 'fd00::/8'] },
    ],
    [
      { 'tls-cert': 'c.pem', 'tls-key': '/k.pem' },
      {},
      { tls: { certFile: resolve('c.pem'), keyFile: '/k.pem' } },
    ],
    [{ 'dcc-type': 'blender' }, {}, { dccType: 'blender' }],
    [{ name: 'Anna: Blender' }, {}, { name: 'Anna: Blender' }],
    [{ 'registry-dir': '/a' }, { SERVICE_REGISTRY_DIR: '/b' }, { registryDir: '/a' }],
    [{}, { SERVICE_REGISTRY_DIR: '/b' }, { registryDir: '/b' }],
    [{ 'registry-dir': 'a' }, {}, { registryDir: resolve('a') }],
    [{}, { SERVICE_REGISTRY_DIR: './b' }, { registryDir: resolve('b') }],
    [{ 'scene-file': '../s.json' }, {}, { sceneFile: resolve('../s.json') }],
    [{ 'host-token-file': 't' }, {}, { hostTokenFile: resolve('t') }],
    [{}, { SERVICE_REGISTRY_DIR: '' }, {}],
    [{}, { SERVICE_HOST_TOKEN: 'abc' }, { hostTokenEnv: 'abc' }],
    [{}, { SERVICE_MCP_API_KEY: 'abc' }, { auth: keyed('abc') }],
    [{}, { SERVICE_MCP_API_KEY: '' }, {}],
    [{ limit: ['maxSessions=5', 'pageSize=10'] }, {}, { limits: { maxSessions: 5, pageSize: 10 } }],
    [{ host: '0.0.0.0' }, { SERVICE_MCP_API_KEY: 'abc' }, { host: '0.0.0.0', auth: keyed('abc') }],
    [{ host: '0.0.0.0', 'allow-unauthenticated': true }, {}, { host: '0.0.0.0' }],
    [{ capture: 'auto' }, {}, { capture: { mode: 'auto' } }],
    [{ capture: 'off' }, {}, {}],
    [
      { capture: 'x11', 'capture-title': 'shot 010', limit: ['maxCaptureWidth=1920'] },
      {},
      { capture: { mode: 'x11', title: 'shot 010' }, limits: { maxCaptureWidth: 1920 } },
    ],
    [{ 'no-artefacts': true }, {}, { artefacts: false }],
    [{ 'no-resources': true, 'no-notes': true }, {}, { resources: false, notes: false }],
    // That of an accounts server on the same machine.
    [{}, { SERVICE_DATABASE_URL: 'postgres://db/accounts' }, {}],
  ]
  for (const [flags, env, expected] of accepted) {
    it(`reads ${JSON.stringify({ ...flags, ...env })}`, async () => {
      const bare = await readServeSettings(defaults, {})
      const settings = await readServeSettings({ ...defaults, ...flags }, env)
      expect(givenMembers(settings)).to.deep.equal({ ...givenMembers(bare), ...expected })
    })
  }

  it('reads where the bucket and its database are', async () => {
    const flags = { ...defaults, artefacts: 's3://renders/a/b/' }
    const database = 'postgres://studio:hidden@db.example/studio'
    const found = async (env: NodeJS.ProcessEnv) =>
      (await readServeSettings(flags, { SERVICE_DATABASE_URL: database, ...env })).artefacts
    const bucket = { bucket: 'renders', prefix: 'a/b/', endpoint: undefined, region: undefined }
    const aws = await found({})
    expect(aws).to.have.deep.property('bucket', bucket)
    expect(aws).to.have.nested.property('database.host', 'db.example')
    expect(JSON.stringify(aws)).not.to.contain('hidden')
    const own = { AWS_ENDPOINT_URL: 'http://a:1', AWS_ENDPOINT_URL_S3: 'https://b:2' }
    expect(await found(own)).to.have.deep.property('bucket', {
      ...bucket,
      endpoint: 'https://b:2',
      region: 'us-east-1',
    })
    expect(await found({ ...own, AWS_REGION: 'eu-1' })).to.have.nested.property(
      'bucket.region',
      'eu-1',
    )
  })

  const database = { database: 'postgres://db.example/studio' }
  const refused: [flags: Partial<ServeFlags>, env: NodeJS.ProcessEnv, message: string][] = [
    [{ host: '0.0.0.0' }, {}, '--host 0.0.0.0 exposes the server to the network'],
    [{ host: '::' }, {}, '--host :: exposes'],
    [{ host: 'a b' }, {}, '--host a b is neither'],
    [{ host: '0.0.0.0' }, { SERVICE_MCP_API_KEY: '' }, 'exposes the server to the network'],
    [{ 'tls-cert': 'c.pem' }, {}, '--tls-cert needs --tls-key'],
    [{ 'tls-key': 'k.pem' }, {}, '--tls-key needs --tls-cert'],
    [{ 'tls-cert': '', 'tls-key': 'k.pem' }, {}, '--tls-cert is empty'],
    [{ 'trusted-proxy': ['localhost'] }, {}, '--trusted-proxy localhost is neither'],
    [{ 'trusted-proxy': ['10.0.0.0/33'] }, {}, '--trusted-proxy 10.0.0.0/33 is neither'],
    [{ 'trusted-proxy': ['0.0.0.0/0'] }, {}, '--trusted-proxy 0.0.0.0/0 is neither'],
    [{ 'trusted-proxy': ['::/0'] }, {}, '--trusted-proxy ::/0 is neither'],
    [{ 'trusted-proxy': [''] }, {}, '--trusted-proxy  is neither'],
    [{ 'public-url': 'https://a.example' }, {}, 'exposes the server to the network'],
    [{ 'public-url': 'ftp://a' }, {}, '--public-url'],
    [{ 'public-url': 'https://u:p@a' }, {}, '--public-url'],
    [{ 'public-url': 'nonsense' }, {}, '--public-url'],
    [{ 'allowed-host': ['*'] }, {}, '--allowed-host *'],
    [{ 'allowed-host': ['http://a'] }, {}, '--allowed-host http://a'],
    [{ 'allowed-origin': ['*'] }, {}, '--allowed-origin *'],
    [{ 'allowed-origin': ['https://a/'] }, {}, '--allowed-origin https://a/'],
    [{ 'allowed-origin': ['https://x:99999'] }, {}, '--allowed-origin https://x:99999'],
    [{ 'allowed-origin': ['https://'] }, {}, '--allowed-origin https://'],
    [{ 'allowed-origin': ['null'] }, {}, '--allowed-origin null'],
    [{ 'dcc-type': 'Big App' }, {}, '--dcc-type Big App'],
    [{ name: 'a\nb' }, {}, '--name'],
    [{ artefacts: 's3://renders' }, {}, '--artefacts needs a PostgreSQL database'],
    [database, {}, '--database is for --artefacts'],
    [{ ...database, artefacts: '/renders' }, {}, '--artefacts is not the address of a bucket'],
    [{ ...database, artefacts: 's3://a:b@renders' }, {}, '--artefacts is not the address'],
    [{ ...database, artefacts: 's3://renders?x=1' }, {}, '--artefacts is not the address'],
    [{ ...database, artefacts: 's3://renders/../x' }, {}, '--artefacts has an invalid prefix'],
    [
      { ...database, artefacts: 's3://renders' },
      { AWS_ENDPOINT_URL: 'http://user:word@host' },
      'AWS_ENDPOINT_URL is not the address of a server',
    ],
    [{ capture: 'off', 'capture-title': 'a' }, {}, '--capture-title is not for --capture off'],
    [{ capture: 'host', 'capture-title': 'a' }, {}, '--capture-title is not for --capture host'],
    [{ capture: 'auto', 'capture-title': '' }, {}, '--capture-title must be'],
    [{ capture: 'auto', limit: ['captureMs=0'] }, {}, '--limit captureMs=0'],
    [{ 'scene-file': '' }, {}, '--scene-file is empty'],
    [{ limit: ['maxSesions=5'] }, {}, 'unknown limit "maxSesions"'],
    [{ limit: ['toString=5'] }, {}, 'unknown limit "toString"'],
    [{ limit: ['pageSize'] }, {}, 'pageSize=NUMBER'],
    [{ limit: ['pageSize=-1'] }, {}, 'pageSize=NUMBER'],
    [{ limit: ['pageSize=1e3'] }, {}, 'pageSize=NUMBER'],
    [{ 'api-key-file': '' }, {}, '--api-key-file'],
    [{ 'api-key-file': '/nonexistent/key' }, { SERVICE_MCP_API_KEY: 'abc' }, 'no such file'],
    [{}, { SERVICE_MCP_API_KEY: 'two words' }, 'SERVICE_MCP_API_KEY contains'],
    [{}, { SERVICE_HOST_TOKEN: 'two words' }, 'SERVICE_HOST_TOKEN contains'],
  ]
  for (const [flags, env, message] of refused) {
    it(`refuses ${JSON.stringify({ ...flags, ...env })}`, async () => {
      const error: unknown = await readServeSettings({ ...defaults, ...flags }, env).catch(
        (thrown: unknown) => thrown,
      )
      expect(error).to.be.instanceOf(ServiceError)
      expect(error).to.have.property('message').that.contains(message)
      expect(error).to.have.property('message').that.does.not.contain('two words')
    })
  }

  it('names the nearest limit', async () => {
    const flags = { ...defaults, limit: ['maxSesions=5'] }
    const error: unknown = await readServeSettings(flags, {}).catch((thrown: unknown) => thrown)
    expect(error).to.have.property('hint', 'did you mean maxSessions?')
  })

  it('takes the key file before the variable', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'service-cli-test-'))
    const file = join(folder, 'key')
    await writeFile(file, 'from-file\n', { mode: 0o600 })
    const env = { SERVICE_MCP_API_KEY: 'from-variable' }
    const settings = await readServeSettings({ ...defaults, 'api-key-file': file }, env)
    await rm(folder, { recursive: true })
    expect(givenMembers(settings)).to.have.deep.property('auth', keyed('from-file'))
  })
})
