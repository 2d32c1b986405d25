import { expect } from 'chai'
import { CimdDocument, OAuthConfig, type OAuthOptions } from '../../src/index.ts'
import { facts } from './facts.ts'

const providerUrl = 'https://id.studio.example'
const redirectUri = 'http://127.0.0.1:8765/oauth/callback'
const path = '/.well-known/oauth-client-metadata'

const config = (more: Partial<OAuthOptions> = {}) => new OAuthConfig({ providerUrl, ...more })

/** What JavaScript, or a settings file, may hand over. */
const untyped = (value: unknown) => value as never

facts('specification: Resources and their fields, OAuthConfig', [
  [
    'all members but the provider have defaults',
    () => {
      const { clientId, scopes, clientName, redirectUri } = config()
      expect({ clientId, scopes, clientName, redirectUri }).to.deep.equal({
        clientId: null,
        scopes: [],
        clientName: 'service-mcp-server',
        redirectUri: null,
      })
    },
  ],
  [
    'the three endpoints derive from the provider',
    () => {
      expect(config().authorizationEndpoint).to.equal(`${providerUrl}/authorize`)
      expect(config().tokenEndpoint).to.equal(`${providerUrl}/token`)
      expect(config().wellKnownUrl).to.equal(providerUrl + path)
    },
  ],
  [
    'a provider with a path keeps it; slashes at the end make no difference',
    () => {
      for (const slashes of ['', '/', '///']) {
        const realm = config({ providerUrl: `${providerUrl}/realms/film${slashes}` })
        expect(realm.authorizationEndpoint).to.equal(`${providerUrl}/realms/film/authorize`)
        expect(realm.tokenEndpoint).to.equal(`${providerUrl}/realms/film/token`)
        expect(realm.wellKnownUrl).to.equal(`${providerUrl}/realms/film${path}`)
        expect(realm.providerUrl).to.equal(`${providerUrl}/realms/film${slashes}`)
      }
    },
  ],
  [
    'the derived endpoints are read-only',
    () => {
      for (const name of ['authorizationEndpoint', 'tokenEndpoint', 'wellKnownUrl']) {
        const assign = () => Object.assign(config(), { [name]: 'https://other.example' })
        expect(assign, name).to.throw(TypeError)
      }
    },
  ],
  [
    'empty texts count as absent',
    () => {
      const empty = config({ clientId: '', clientName: '', redirectUri: '' })
      expect(empty).to.deep.include({ clientId: null, clientName: 'service-mcp-server' })
      expect(empty.redirectUri).to.equal(null)
    },
  ],
])

const notProviders: [why: string, value: unknown][] = [
  ['missing', undefined],
  ['empty', ''],
  ['no text', 7],
  ['no URL', 'id.studio.example'],
  ['with a password', 'https://ada:hunter2@id.studio.example'],
  ['with a query', 'https://id.studio.example?tenant=1'],
  ['with a backslash', 'https://id.studio.example\\@other.example'],
]

facts('specification: Resources and their fields, OAuthConfig, provider_url is required', [
  ...notProviders.map(([why, value]) => {
    const refused = () => {
      expect(() => config({ providerUrl: untyped(value) }))
        .to.throw(TypeError, /^providerUrl must/)
        .with.property('message')
        .that.does.not.include('hunter2')
    }
    return [`${why}: a TypeError that names the member`, refused] as const
  }),
])

facts('specification: Resources and their fields, to_cimd_document', [
  [
    'the redirect URI that was given is the one in the document',
    () => {
      const document = config().toCimdDocument({ redirectUri })
      expect(document).to.be.instanceOf(CimdDocument)
      expect(document.redirectUris).to.deep.equal([redirectUri])
    },
  ],
  [
    'without one it is the default of the configuration, which the one given overrides',
    () => {
      const made = config({ redirectUri })
      expect(made.toCimdDocument().redirectUris).to.deep.equal([redirectUri])
      const other = 'https://mcp.studio.example/callback'
      expect(made.toCimdDocument({ redirectUri: other }).redirectUris).to.deep.equal([other])
    },
  ],
  [
    'with neither it throws, and says what to give',
    () => {
      for (const options of [undefined, {}, { redirectUri: '' }, { redirectUri: null }]) {
        expect(() => config().toCimdDocument(options)).to.throw(TypeError, /^missing redirectUri: /)
      }
    },
  ],
  [
    'the name is that of the configuration, the scope its scopes with spaces between them',
    () => {
      const made = config({ clientName: 'Rig', scopes: ['openid', 'scene:read'], redirectUri })
      expect(made.toCimdDocument()).to.include({ clientName: 'Rig', scope: 'openid scene:read' })
    },
  ],
  [
    'a scope that would become two, or none, is refused',
    () => {
      for (const scopes of [['openid email'], [''], ['a"b'], 'openid', [7]]) {
        expect(() => config({ scopes: untyped(scopes) })).to.throw(TypeError, /^scopes/)
      }
    },
  ],
  [
    'it is the document of a public client: PKCE, code grant, no secret',
    () =>
      expect(config({ redirectUri }).toCimdDocument().toDict()).to.deep.equal({
        client_name: 'service-mcp-server',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      }),
  ],
])

const clientIds: [publicUrl: string | null, clientId: string | null][] = [
  ['https://mcp.studio.example', `https://mcp.studio.example${path}`],
  ['https://mcp.studio.example/scene//', `https://mcp.studio.example/scene${path}`],
  ['HTTPS://MCP.studio.example:443/a/../b', `https://mcp.studio.example/b${path}`],
  ['http://mcp.studio.example', null],
  ['https://localhost:8443', null],
  ['', null],
  [null, null],
]

facts('decision: client_id of the metadata document, known with a public https URL', [
  ...clientIds.map(([publicUrl, clientId]) => {
    const check = () => {
      const dict = config({ redirectUri }).toCimdDocument({ publicUrl }).toDict()
      expect(dict.client_id ?? null).to.equal(clientId)
      expect('client_id' in dict).to.equal(clientId !== null)
    }
    return [`${publicUrl}: ${clientId ?? 'absent'}`, check] as const
  }),
  [
    'the id registered beforehand is never in it',
    () => {
      const made = config({ clientId: 'studio-7', redirectUri })
      expect(JSON.stringify(made.toCimdDocument())).not.to.include('studio-7')
    },
  ],
  [
    'a public address that is no URL is refused',
    () => {
      const call = () => config({ redirectUri }).toCimdDocument({ publicUrl: 'mcp.studio.example' })
      expect(call).to.throw(TypeError, /^publicUrl must/)
    },
  ],
])
