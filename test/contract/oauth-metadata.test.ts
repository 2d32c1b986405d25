import { expect } from 'chai'
import {
  type McpHttpConfig,
  McpHttpServer,
  type McpServices,
  OAuthConfig,
} from '../../src/index.ts'
import { ask } from '../helpers/mcp.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { startGateway } from '../../src/server/gateway.ts'
import { startServe } from '../../src/server/serve.ts'
import { facts, inFolder } from './facts.ts'

const path = '/.well-known/oauth-client-metadata'
const redirectUri = 'http://127.0.0.1:8765/oauth/callback'
const oauth = new OAuthConfig({
  providerUrl: 'https://id.studio.example',
  scopes: ['openid', 'scene:read'],
  redirectUri,
})
const described = {
  client_name: 'service-mcp-server',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  scope: 'openid scene:read',
}

facts('specification: Resources and their fields, CimdDocument', [
  [
    'GET /.well-known/oauth-client-metadata serves it, and no other method writes it',
    () =>
      at({}, { oauth }, async url => {
        const { status, headers, json } = await ask(url)
        expect(status).to.equal(200)
        expect(headers['content-type']).to.equal('application/json')
        expect(json).to.deep.equal(described)
        const written = await ask(url, { method: 'POST' })
        expect(written.status).to.equal(405)
        expect(written.headers.allow).to.equal('GET, HEAD')
      }),
  ],
])

facts('decision: the metadata document of the OAuth client', [
  [
    'carries its own https URL as client_id where that is public',
    () =>
      at({ publicUrl: 'https://mcp.studio.example/dcc/' }, { oauth }, async url => {
        const client_id = `https://mcp.studio.example/dcc${path}`
        expect((await ask(url)).json).to.deep.equal({ client_id, ...described })
      }),
  ],
  [
    'carries no client_id where the public URL is plain http, or of this machine',
    async () => {
      for (const publicUrl of ['http://mcp.studio.example', 'https://localhost:8765']) {
        await at({ publicUrl }, { oauth }, async url => {
          expect((await ask(url)).json).to.deep.equal(described)
        })
      }
    },
  ],
  [
    'is a 404 in JSON that says why without OAuth, and without a redirect URI',
    async () => {
      const bare = new OAuthConfig({ providerUrl: 'https://id.studio.example' })
      await at({}, {}, expectNone)
      await at({}, { oauth: bare }, expectNone)
    },
  ],
])

facts('decision: the metadata document of serve and gateway in oauth mode', [
  [
    'is that of the settings, for both',
    async () => {
      const auth = {
        mode: 'oauth' as const,
        issuer: 'https://id.studio.example',
        redirectUri,
        requiredScope: 'scene:read',
      }
      await inFolder(async registryDir => {
        const options = {
          port: 0,
          host: '127.0.0.1',
          allowedHosts: [],
          allowedOrigins: [],
          registryDir,
          auth,
          log: silentLogger,
          accessLog: () => {},
        }
        const facts = { dccType: 'unknown', artefacts: false, resources: true }
        const rules = { standby: false }
        for (const start of [
          () => startServe({ ...options, ...facts }),
          () => startGateway({ ...options, ...rules }),
        ]) {
          const handle = await start()
          const { status, json } = await ask(new URL(path, handle.url).href)
          await handle.stop()
          expect(status).to.equal(200)
          expect(json).to.deep.equal({ ...described, scope: 'scene:read' })
        }
      })
    },
  ],
])

/** The address of the document at a server of its own, wherever clients are told that it is. */
async function at(
  config: McpHttpConfig,
  services: McpServices,
  check: (url: string) => Promise<void>,
): Promise<void> {
  const server = new McpHttpServer(config, services)
  const { port } = await server.start()
  try {
    await check(`http://127.0.0.1:${port}${path}`)
  } finally {
    await server.stop()
  }
}

async function expectNone(url: string): Promise<void> {
  const { status, headers, json } = await ask(url)
  expect(status).to.equal(404)
  expect(headers['content-type']).to.equal('application/problem+json')
  expect(json).to.deep.include({ code: 'route-not-found', status: 404 })
  expect(json.detail).to.match(/OAuth is not configured/)
}
