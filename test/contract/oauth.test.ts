import { expect } from 'chai'
import {
  CimdDocument,
  type CimdOptions,
  McpHttpServer,
  OAuthConfig,
  type OAuthOptions,
} from '../../src/index.ts'
import { gatewayInProcess, serveInProcess } from '../helpers/in-process-servers.ts'
import { ask } from '../helpers/mcp.ts'
import { newFolder } from '../helpers/cleanup.ts'

const providerUrl = 'https://id.studio.example'
const redirectUri = 'http://127.0.0.1:8765/oauth/callback'
const path = '/.well-known/oauth-client-metadata'

const config = (more: Partial<OAuthOptions> = {}) => new OAuthConfig({ providerUrl, ...more })
const documentOf = (more: Partial<CimdOptions> = {}) =>
  new CimdDocument({ clientName: 'rig', redirectUris: [redirectUri], ...more })

/** What JavaScript, or a settings file, may hand over. */
const untyped = (value: unknown) => value as never

/** The document of a public client: PKCE, code grant, no secret. */
const publicClient = {
  client_name: 'service-mcp-server',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

describe('OAuthConfig', () => {
  it('has defaults for all members but the provider; empty texts count as absent', () => {
    const empty = { clientId: '', clientName: '', redirectUri: '' }
    for (const given of [config(), config(empty)]) {
      expect({ ...given }).to.deep.include({
        clientId: null,
        scopes: [],
        clientName: 'service-mcp-server',
        redirectUri: null,
      })
    }
  })

  it('derives three read-only endpoints from the provider, its path included', () => {
    for (const slashes of ['', '/', '///']) {
      const realm = config({ providerUrl: `${providerUrl}/realms/film${slashes}` })
      expect(realm.authorizationEndpoint).to.equal(`${providerUrl}/realms/film/authorize`)
      expect(realm.tokenEndpoint).to.equal(`${providerUrl}/realms/film/token`)
      expect(realm.wellKnownUrl).to.equal(`${providerUrl}/realms/film${path}`)
    }
    for (const name of ['authorizationEndpoint', 'tokenEndpoint', 'wellKnownUrl']) {
      const assign = () => Object.assign(config(), { [name]: 'https://other.example' })
      expect(assign, name).to.throw(TypeError)
    }
  })

  it('refuses a providerUrl that cannot be extended, without repeating a password', () => {
    for (const value of [
      undefined,
      '',
      'id.studio.example',
      'ftp://id.studio.example',
      'https://ada:hunter2@id.studio.example',
      'https://id.studio.example?tenant=1',
    ]) {
      expect(() => config({ providerUrl: untyped(value) }), String(value))
        .to.throw(TypeError, /^providerUrl must/)
        .with.property('message')
        .that.does.not.include('hunter2')
    }
  })

  it('refuses a scope that would become two, or none', () => {
    for (const scopes of [['openid email'], [''], ['a"b']]) {
      expect(() => config({ scopes })).to.throw(TypeError, /^scopes/)
    }
  })
})

describe('toCimdDocument', () => {
  it('is the document of a public client with the given redirect URI, else the default', () => {
    expect(config().toCimdDocument({ redirectUri })).to.be.instanceOf(CimdDocument)
    expect(config().toCimdDocument({ redirectUri }).toDict()).to.deep.equal(publicClient)
    const made = config({ redirectUri })
    expect(made.toCimdDocument().redirectUris).to.deep.equal([redirectUri])
    const other = 'https://mcp.studio.example/callback'
    expect(made.toCimdDocument({ redirectUri: other }).redirectUris).to.deep.equal([other])
  })

  it('throws without a redirect URI', () => {
    for (const options of [undefined, {}, { redirectUri: '' }, { redirectUri: null }]) {
      expect(() => config().toCimdDocument(options)).to.throw(TypeError, /^missing redirectUri: /)
    }
  })

  const clientIds: [publicUrl: string | null, clientId: string | undefined][] = [
    ['https://mcp.studio.example', `https://mcp.studio.example${path}`],
    ['https://mcp.studio.example/scene//', `https://mcp.studio.example/scene${path}`],
    ['HTTPS://MCP.studio.example:443/a/../b', `https://mcp.studio.example/b${path}`],
    ['http://mcp.studio.example', undefined],
    ['https://localhost:8443', undefined],
    ['https://[::1]', undefined],
    ['', undefined],
    [null, undefined],
  ]
  for (const [publicUrl, clientId] of clientIds) {
    it(`has ${clientId ?? 'no client_id'} for the public URL ${publicUrl}`, () => {
      const made = config({ clientId: 'studio-7', redirectUri })
      const dict = made.toCimdDocument({ publicUrl }).toDict()
      expect(dict).to.deep.equal({ ...(clientId && { client_id: clientId }), ...publicClient })
    })
  }
})

describe('CimdDocument', () => {
  it('has defaults for all members but name and redirect URIs', () => {
    expect({ ...documentOf() }).to.deep.equal({
      clientName: 'rig',
      redirectUris: [redirectUri],
      grantTypes: ['authorization_code'],
      responseTypes: ['code'],
      tokenEndpointAuthMethod: 'none',
      scope: null,
      logoUri: null,
      clientUri: null,
      contacts: [],
      clientId: null,
    })
  })

  it('serialises its members as they are on the wire', () => {
    const document = documentOf({
      redirectUris: [redirectUri, 'https://a.example/cb?x=1', 'cursor://mcp/callback'],
      grantTypes: ['authorization_code', 'refresh_token'],
      responseTypes: ['code', 'none'],
      tokenEndpointAuthMethod: 'private_key_jwt',
      scope: 'openid email',
      logoUri: 'https://a.example/logo.png',
      clientUri: 'https://a.example',
      contacts: ['td@a.example'],
      clientId: `https://a.example${path}`,
    })
    expect(document.toDict()).to.deep.equal({
      client_id: `https://a.example${path}`,
      client_name: 'rig',
      redirect_uris: [redirectUri, 'https://a.example/cb?x=1', 'cursor://mcp/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code', 'none'],
      token_endpoint_auth_method: 'private_key_jwt',
      scope: 'openid email',
      logo_uri: 'https://a.example/logo.png',
      client_uri: 'https://a.example',
      contacts: ['td@a.example'],
    })
    expect(JSON.parse(JSON.stringify(document))).to.deep.equal(document.toDict())
  })

  it('refuses a missing name, and redirect URIs that are none', () => {
    for (const clientName of [undefined, null, '', ' ']) {
      expect(() => documentOf({ clientName: untyped(clientName) })).to.throw(
        TypeError,
        /^clientName/,
      )
    }
    const uris = ['/callback', 'https://a.example/#x', 'https://a.example/a b'].map(one => [one])
    for (const redirectUris of [undefined, [], ...uris]) {
      const call = () => documentOf({ redirectUris: untyped(redirectUris) })
      expect(call, String(redirectUris)).to.throw(TypeError, /^redirectUris/)
    }
  })
})

describe(`GET ${path}`, () => {
  const scopes = ['openid', 'scene:read']
  const oauth = config({ scopes, redirectUri })
  const registryDir = newFolder()

  /** Answers of a server of its own to a GET, or to another method. */
  async function answerOf(publicUrl: string | undefined, oauth?: OAuthConfig, method = 'GET') {
    const server = new McpHttpServer({ publicUrl }, { oauth })
    const { port } = await server.start()
    const answer = await ask(`http://127.0.0.1:${port}${path}`, { method })
    await server.stop()
    return answer
  }

  it('serves the document, with its own https URL as client_id where that is public', async () => {
    const described = { ...publicClient, scope: 'openid scene:read' }
    const { status, headers, json } = await answerOf(undefined, oauth)
    expect(status).to.equal(200)
    expect(headers['content-type']).to.equal('application/json')
    expect(json).to.deep.equal(described)
    const client_id = `https://mcp.studio.example/dcc${path}`
    const named = await answerOf('https://mcp.studio.example/dcc/', oauth)
    expect(named.json).to.deep.equal({ client_id, ...described })
  })

  it('is 404 in JSON without OAuth, and without a redirect URI', async () => {
    for (const none of [undefined, config()]) {
      const { status, headers, json } = await answerOf(undefined, none)
      expect(status).to.equal(404)
      expect(headers['content-type']).to.equal('application/problem+json')
      expect(json).to.deep.include({ code: 'route-not-found', status: 404 })
    }
  })

  it('is that of the flags at serve and gateway', async () => {
    const flags = ['--auth', 'oauth', '--oauth-issuer', providerUrl]
    flags.push('--oauth-scope', 'scene:read', '--oauth-redirect-uri', redirectUri)
    const serve = await serveInProcess({ flags })
    const gateway = gatewayInProcess({ port: 0, registryDir, flags })
    const { url } = await gateway.line('listening')
    const answers = await Promise.all([serve.base, url].map(each => ask(new URL(path, each).href)))
    await gateway.stop()
    await serve.stop()
    for (const { status, json } of answers) {
      expect(status).to.equal(200)
      expect(json).to.deep.equal({ ...publicClient, scope: 'scene:read' })
    }
  })
})
