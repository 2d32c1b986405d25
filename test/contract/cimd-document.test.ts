import { expect } from 'chai'
import { CimdDocument, type CimdOptions, OAuthConfig } from '../../src/index.ts'
import { facts } from './facts.ts'

const redirectUri = 'http://127.0.0.1:8765/oauth/callback'
const path = '/.well-known/oauth-client-metadata'

const documentOf = (more: Partial<CimdOptions> = {}) =>
  new CimdDocument({ clientName: 'rig', redirectUris: [redirectUri], ...more })

/** What JavaScript, or a settings file, may hand over. */
const untyped = (value: unknown) => value as never

facts('specification: Resources and their fields, CimdDocument', [
  [
    'all members but name and redirect URIs have defaults',
    () =>
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
      }),
  ],
  [
    'client_name is required',
    () => {
      for (const clientName of [undefined, null, '', ' ', 7]) {
        const call = () => documentOf({ clientName: untyped(clientName) })
        expect(call, String(clientName)).to.throw(TypeError, /^clientName/)
      }
    },
  ],
  [
    'redirect_uris is required, with one at least',
    () => {
      for (const redirectUris of [undefined, null, [], redirectUri]) {
        const call = () => documentOf({ redirectUris: untyped(redirectUris) })
        expect(call, String(redirectUris)).to.throw(TypeError, /^redirectUris/)
      }
    },
  ],
  [
    'every callback stays as it was written, those of desktop clients, too',
    () => {
      const redirectUris = ['http://127.0.0.1', 'https://a.example/cb?x=1', 'cursor://mcp/callback']
      expect(documentOf({ redirectUris }).toDict().redirect_uris).to.deep.equal(redirectUris)
    },
  ],
  [
    'a callback that is relative, has a fragment or spaces is refused by its place',
    () => {
      for (const wrong of ['/callback', 'https://a.example/#x', 'https://a.example/a b', '', 7]) {
        const call = () => documentOf({ redirectUris: [redirectUri, untyped(wrong)] })
        expect(call, String(wrong)).to.throw(TypeError, /^redirectUris\[1\]/)
      }
    },
  ],
  [
    'no address of it runs a script or reads a file, wherever it is given',
    () => {
      const provider = new OAuthConfig({ providerUrl: 'https://id.example' })
      for (const scheme of ['javascript', 'JavaScript', 'data', 'file', 'blob', 'vbscript']) {
        const uri = `${scheme}:x`
        const message = `must not have the scheme "${scheme.toLowerCase()}"`
        expect(() => documentOf({ redirectUris: [uri] })).to.throw(message)
        expect(() => documentOf({ logoUri: uri })).to.throw(`logoUri ${message}`)
        expect(() => documentOf({ clientUri: uri })).to.throw(`clientUri ${message}`)
        expect(() => provider.toCimdDocument({ redirectUri: uri })).to.throw(message)
      }
    },
  ],
  [
    'to_dict names its members as they are on the wire',
    () => {
      const all = documentOf({
        redirectUris: [redirectUri, 'https://a.example/cb'],
        grantTypes: ['authorization_code', 'refresh_token'],
        responseTypes: ['code', 'none'],
        tokenEndpointAuthMethod: 'private_key_jwt',
        scope: 'openid email',
        logoUri: 'https://a.example/logo.png',
        clientUri: 'https://a.example',
        contacts: ['td@a.example'],
        clientId: `https://a.example${path}`,
      })
      expect(all.toDict()).to.deep.equal({
        client_id: `https://a.example${path}`,
        client_name: 'rig',
        redirect_uris: [redirectUri, 'https://a.example/cb'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code', 'none'],
        token_endpoint_auth_method: 'private_key_jwt',
        scope: 'openid email',
        logo_uri: 'https://a.example/logo.png',
        client_uri: 'https://a.example',
        contacts: ['td@a.example'],
      })
    },
  ],
  [
    'optional members that are null or empty are absent, never null',
    () => {
      const required = [
        'client_name',
        'redirect_uris',
        'grant_types',
        'response_types',
        'token_endpoint_auth_method',
      ]
      const empty = { scope: '', logoUri: '', clientUri: '', contacts: [], clientId: '' }
      const nothing = { scope: null, logoUri: null, clientUri: null, clientId: null }
      for (const more of [{}, empty, nothing]) {
        expect(Object.keys(documentOf(more).toDict())).to.deep.equal(required)
      }
    },
  ],
  [
    'JSON.stringify serialises the same',
    () => {
      const document = documentOf({ scope: 'openid' })
      expect(JSON.parse(JSON.stringify(document))).to.deep.equal(document.toDict())
    },
  ],
  [
    'a method that needs a shared secret is refused: everyone reads the document',
    () => {
      for (const tokenEndpointAuthMethod of ['client_secret_basic', 'client_secret_jwt', '']) {
        const call = () => documentOf({ tokenEndpointAuthMethod })
        expect(call).to.throw(TypeError, /^tokenEndpointAuthMethod/)
      }
    },
  ],
  [
    'a client_id that no provider accepts as the URL of a document is refused',
    () => {
      const wrong = ['studio-7', 'http://a.example/x', 'https://a.example', 'https://a.example/']
      const odd = ['https://a.example/a/../x', 'https://a.example/x#y', 'https://ada@a.example/x']
      for (const clientId of [...wrong, ...odd]) {
        expect(() => documentOf({ clientId }), clientId).to.throw(TypeError, /^clientId/)
      }
    },
  ],
])
