import { expect } from 'chai'
import { resolve } from 'node:path'
import { type GatewayFlags, readGatewaySettings } from '../../../src/commands/gateway-settings.ts'
import { readServeSettings } from '../../../src/commands/serve-settings.ts'
import { keysPath } from '../../../src/lib/config/paths.ts'
import { givenMembers } from '../../helpers/given-members.ts'

const defaults: GatewayFlags = { port: 9765, host: '127.0.0.1', 'allow-unauthenticated': false }

const keyed = (key: string) => ({ mode: 'api-key', key, keysFile: keysPath({}) })

describe('readGatewaySettings', () => {
  it('has nothing optional by default', async () => {
    expect(givenMembers(await readGatewaySettings(defaults, {}))).to.deep.equal({
      port: 9765,
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      tools: true,
      page: true,
      standby: true,
      auth: { mode: 'none', keysFile: keysPath({}) },
      limits: {},
    })
  })

  const accepted: [flags: Partial<GatewayFlags>, env: NodeJS.ProcessEnv, expected: object][] = [
    [{ 'no-standby': true }, {}, { standby: false }],
    [{ 'no-tools': true, 'no-page': true }, {}, { tools: false, page: false }],
    [{ catalog: 'c.json' }, {}, { catalog: resolve('c.json') }],
    [{ 'registry-dir': 'a' }, { SERVICE_REGISTRY_DIR: '/b' }, { registryDir: resolve('a') }],
    [{}, { SERVICE_REGISTRY_DIR: '/b' }, { registryDir: '/b' }],
    [{}, { SERVICE_MCP_API_KEY: 'abc' }, { auth: keyed('abc') }],
    [{ host: '0.0.0.0' }, { SERVICE_MCP_API_KEY: 'abc' }, { host: '0.0.0.0', auth: keyed('abc') }],
    [{ 'public-url': 'https://localhost' }, {}, { publicUrl: 'https://localhost' }],
    [
      { limit: ['maxSessions=5', 'instanceStaleMs=50000'] },
      {},
      { limits: { maxSessions: 5, instanceStaleMs: 50_000 } },
    ],
  ]
  for (const [flags, env, expected] of accepted) {
    it(`reads ${JSON.stringify({ ...flags, ...env })}`, async () => {
      const settings = await readGatewaySettings({ ...defaults, ...flags }, env)
      expect(givenMembers(settings)).to.deep.include(expected)
    })
  }

  const refused: [flags: Partial<GatewayFlags>, message: string][] = [
    [{ host: '0.0.0.0' }, 'exposes the server to the network'],
    [{ 'trusted-proxy': ['127.0.0.1'] }, 'exposes the server to the network'],
    [{ catalog: '' }, '--catalog is empty'],
    [{ 'registry-dir': '' }, '--registry-dir is empty'],
    [{ limit: ['electionRetryMs=500'] }, 'unknown limit "electionRetryMs"'],
    [{ limit: ['accessTokenMs=5000'] }, 'accessTokenMs'],
  ]
  for (const [flags, message] of refused) {
    it(`refuses ${JSON.stringify(flags)}`, async () => {
      const attempt = readGatewaySettings({ ...defaults, ...flags }, {})
      const error = await attempt.catch((cause: unknown) => cause)
      expect(error).to.include({ code: 'usage_invalid' })
      expect(error).to.have.property('message').that.contains(message)
    })
  }
})

describe('serve --gateway', () => {
  const serve = {
    port: 0,
    host: '127.0.0.1',
    'dcc-type': 'unknown',
    'no-artefacts': false,
    'allow-unauthenticated': false,
  }

  it('takes the port of gateways, or another one', async () => {
    const { gateway } = await readServeSettings({ ...serve, gateway: true }, {})
    expect(gateway).to.deep.equal({ port: 9765, aggregate: false })
    const flags = { gateway: true, 'gateway-port': 9000, aggregate: true, limit: ['maxSessions=3'] }
    const settings = await readServeSettings({ ...serve, ...flags }, {})
    expect(settings.gateway).to.deep.equal({ port: 9000, aggregate: true })
    expect(settings.limits).to.deep.equal({ maxSessions: 3 })
    expect(await readServeSettings(serve, {})).to.have.property('gateway', undefined)
  })

  for (const flags of [{ 'gateway-port': 9000 }, { aggregate: true }]) {
    it(`refuses --${Object.keys(flags)[0]} without --gateway`, async () => {
      const error = await readServeSettings({ ...serve, ...flags }, {}).catch(cause => cause)
      expect(error).to.include({ code: 'usage_invalid', hint: 'add --gateway' })
    })
  }
})
