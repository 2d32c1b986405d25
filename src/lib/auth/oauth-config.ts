import { isLoopback } from '../util/net.ts'

/** The path of the metadata document below the address of its host. */
export const clientMetadataPath = '/.well-known/oauth-client-metadata'

/** All but the first two may be absent or null, with the defaults of `CimdDocument`. */
export type CimdOptions = Pick<CimdDocument, 'clientName' | 'redirectUris'> &
  Partial<Omit<CimdDocument, 'toDict' | 'toJSON'>>

/** The document as served, with the names of RFC 7591. Optional members are absent, never null. */
export type CimdJson = ReturnType<CimdDocument['toDict']>

/**
 * A client ID metadata document (RFC 7591; draft-ietf-oauth-client-id-metadata-document), with
 * which an OAuth client describes itself to a provider without registration. Serves nothing:
 * `toDict()` is the JSON for `/.well-known/oauth-client-metadata`. Lists are copied; empty text
 * counts as absent.
 */
export class CimdDocument {
  /** The name in the consent dialog. */
  readonly clientName: string
  /** All redirect URIs, exactly as clients send them; at least one. */
  readonly redirectUris: readonly string[]
  /** Default `['authorization_code']`; add `refresh_token` if the provider issues them. */
  readonly grantTypes: readonly string[]
  /** Default `['code']`. */
  readonly responseTypes: readonly string[]
  /** Default `none`: a public client with PKCE. */
  readonly tokenEndpointAuthMethod: string
  /** Space-separated scopes. Default null: absent. */
  readonly scope: string | null
  /** Logo for the consent dialog. Default null: absent. */
  readonly logoUri: string | null
  /** Home page for the consent dialog. Default null: absent. */
  readonly clientUri: string | null
  /** Contacts, usually mail addresses. Default empty: absent. */
  readonly contacts: readonly string[]
  /** The https URL of this document. Default null: absent. */
  readonly clientId: string | null

  /** Throws `TypeError` without a name, and unless every redirect URI is absolute. */
  constructor(options: CimdOptions) {
    const { clientName, redirectUris } = options
    if (!clientName?.trim()) throw new TypeError('clientName must not be empty')
    if (!redirectUris?.length) throw new TypeError('redirectUris must have at least one URI')
    this.clientName = clientName
    this.redirectUris = redirectUris.map(uri => requireUri(uri, 'redirectUris'))
    this.grantTypes = [...(options.grantTypes ?? ['authorization_code'])]
    this.responseTypes = [...(options.responseTypes ?? ['code'])]
    this.tokenEndpointAuthMethod = options.tokenEndpointAuthMethod || 'none'
    this.scope = options.scope || null
    this.logoUri = options.logoUri || null
    this.clientUri = options.clientUri || null
    this.contacts = [...(options.contacts ?? [])]
    this.clientId = options.clientId || null
  }

  /** Returns the document to serve, as a new object at each call. */
  toDict() {
    return {
      ...(this.clientId !== null && { client_id: this.clientId }),
      client_name: this.clientName,
      redirect_uris: [...this.redirectUris],
      grant_types: [...this.grantTypes],
      response_types: [...this.responseTypes],
      token_endpoint_auth_method: this.tokenEndpointAuthMethod,
      ...(this.scope !== null && { scope: this.scope }),
      ...(this.logoUri !== null && { logo_uri: this.logoUri }),
      ...(this.clientUri !== null && { client_uri: this.clientUri }),
      ...(this.contacts.length > 0 && { contacts: [...this.contacts] }),
    }
  }

  /** Same as `toDict()`, for `JSON.stringify(document)`. */
  toJSON(): CimdJson {
    return this.toDict()
  }
}

/** Settings of an OAuth client; only `providerUrl` is required. */
export type OAuthOptions = Pick<OAuthConfig, 'providerUrl'> &
  Partial<Pick<OAuthConfig, 'clientId' | 'scopes' | 'clientName' | 'redirectUri'>>

export interface ToCimdOptions {
  /** Overrides the `redirectUri` of the configuration. */
  redirectUri?: string | null
  /** The address below which the document is served; sets `client_id` when public and https. */
  publicUrl?: string | null
}

/**
 * The configuration of an OAuth 2.1 public client (PKCE, no secret). Sends no requests and enforces
 * nothing. Derives the endpoints from `providerUrl` by the fixed paths below; the RFC 8414 or
 * OpenID metadata of a provider may name others. Empty text counts as absent.
 */
export class OAuthConfig {
  /** Base URL of the OAuth provider, http or https; trailing slashes are ignored. */
  readonly providerUrl: string
  /** Pre-registered client id. Default null: use the metadata document. */
  readonly clientId: string | null
  /** Scopes to request, one per item. Default empty. */
  readonly scopes: readonly string[]
  /** The name in the consent dialog. Default `service-mcp-server`. */
  readonly clientName: string
  /** The default redirect URI for `toCimdDocument`. Default null. */
  readonly redirectUri: string | null

  /** Throws `TypeError` for an unusable provider URL or redirect URI, and a scope with a space. */
  constructor(options: OAuthOptions) {
    requireBaseUrl(options.providerUrl, 'providerUrl')
    this.providerUrl = options.providerUrl
    this.clientId = options.clientId || null
    this.scopes = [...(options.scopes ?? [])]
    this.clientName = options.clientName || 'service-mcp-server'
    this.redirectUri = options.redirectUri ? requireUri(options.redirectUri, 'redirectUri') : null
    // A scope with a space would be two in the document.
    if (!this.scopes.every(scope => /^[^\s"\\]+$/.test(scope))) {
      throw new TypeError('scopes must be one scope per item, without spaces')
    }
  }

  /** `<providerUrl>/authorize` */
  get authorizationEndpoint(): string {
    return this.#below('/authorize')
  }

  /** `<providerUrl>/token` */
  get tokenEndpoint(): string {
    return this.#below('/token')
  }

  /**
   * `<providerUrl>/.well-known/oauth-client-metadata`. A document on another host has that address
   * as its `client_id`.
   */
  get wellKnownUrl(): string {
    return this.#below(clientMetadataPath)
  }

  /**
   * The metadata document of this client, with space-separated scopes. Its `client_id` is the URL
   * of the document when `publicUrl` is https and not a loopback address, else absent; the
   * pre-registered id is never used. Throws `TypeError` without a redirect URI in the options or
   * the configuration, and for an invalid `publicUrl`.
   */
  toCimdDocument(options: ToCimdOptions = {}): CimdDocument {
    const redirectUri = options.redirectUri || this.redirectUri
    if (redirectUri === null) {
      throw new TypeError('missing redirectUri: pass { redirectUri }, or set it in the OAuthConfig')
    }
    return new CimdDocument({
      clientName: this.clientName,
      redirectUris: [redirectUri],
      scope: this.scopes.join(' '),
      clientId: clientIdAt(options.publicUrl || null),
    })
  }

  #below(path: string): string {
    return this.providerUrl.replace(/\/+$/, '') + path
  }
}

/** Returns `uri`, which must be absolute, of any scheme, without a fragment (RFC 6749, 3.1.2). */
function requireUri(uri: string, member: string): string {
  if (/^[^\s#\\]+$/.test(uri) && URL.canParse(uri)) return uri
  throw new TypeError(`${member} must be an absolute URI without spaces or fragment`)
}

/** Parses an http or https URL to which a path can be appended; throws `TypeError` for others. */
function requireBaseUrl(text: string, member: string): URL {
  const url = /^https?:\/\/[^\s?#@\\]+$/i.test(text) ? URL.parse(text) : null
  if (url !== null) return url
  const parts = 'user name, password, query or fragment'
  throw new TypeError(`${member} must be an http or https URL without ${parts}`)
}

/**
 * The `client_id` of a document below `publicUrl`: its https URL. Null when providers cannot fetch
 * it: no known address, plain http, or a loopback address. Throws `TypeError` for another address.
 */
function clientIdAt(publicUrl: string | null): string | null {
  if (publicUrl === null) return null
  const { protocol, hostname, origin, pathname } = requireBaseUrl(publicUrl, 'publicUrl')
  if (protocol !== 'https:' || isLoopback(hostname)) return null
  return origin + pathname.replace(/\/+$/, '') + clientMetadataPath
}
