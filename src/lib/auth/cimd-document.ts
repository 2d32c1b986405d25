import { isLoopback } from '../util/net.ts'

/** Members of a client ID metadata document; only the first two are required. */
export interface CimdOptions {
  /** The name in the consent dialog. */
  clientName: string
  /** All redirect URIs, exactly as clients send them; at least one. */
  redirectUris: readonly string[]
  /** Default `['authorization_code']`; add `refresh_token` if the provider issues them. */
  grantTypes?: readonly string[]
  /** Default `['code']`. */
  responseTypes?: readonly string[]
  /** Default `none`: a public client with PKCE. */
  tokenEndpointAuthMethod?: string
  /** Space-separated scopes. Default null: absent. */
  scope?: string | null
  /** Logo for the consent dialog. Default null: absent. */
  logoUri?: string | null
  /** Home page for the consent dialog. Default null: absent. */
  clientUri?: string | null
  /** Contacts, usually mail addresses. Default empty: absent. */
  contacts?: readonly string[]
  /** The https URL of this document. Default null: absent. */
  clientId?: string | null
}

/** The document as served, with the names of RFC 7591. Optional members are absent, never null. */
export interface CimdJson {
  client_id?: string
  client_name: string
  redirect_uris: string[]
  grant_types: string[]
  response_types: string[]
  token_endpoint_auth_method: string
  scope?: string
  logo_uri?: string
  client_uri?: string
  contacts?: string[]
}

/**
 * A client ID metadata document (RFC 7591; draft-ietf-oauth-client-id-metadata-document), with
 * which an OAuth client describes itself to a provider without registration. Serves nothing:
 * `toDict()` is the JSON for `/.well-known/oauth-client-metadata`. Lists are copied; empty text
 * counts as absent.
 */
export class CimdDocument {
  readonly clientName: string
  readonly redirectUris: readonly string[]
  readonly grantTypes: readonly string[]
  readonly responseTypes: readonly string[]
  readonly tokenEndpointAuthMethod: string
  readonly scope: string | null
  readonly logoUri: string | null
  readonly clientUri: string | null
  readonly contacts: readonly string[]
  readonly clientId: string | null

  /** Throws `TypeError` without a name, and unless every redirect URI is absolute. */
  constructor(options: CimdOptions) {
    const { clientName, redirectUris } = options
    if (typeof clientName !== 'string' || clientName.trim() === '') {
      throw new TypeError('clientName must be a non-empty string')
    }
    if (!Array.isArray(redirectUris) || redirectUris.length === 0) {
      throw new TypeError('redirectUris must be an array with at least one URI')
    }
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
  toDict(): CimdJson {
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

/** Returns `value`, an absolute URI of any scheme without a fragment (RFC 6749, 3.1.2). */
export function requireUri(value: unknown, member: string): string {
  const isUri = typeof value === 'string' && /^[^\s#\\]+$/.test(value) && URL.canParse(value)
  if (isUri) return value
  throw new TypeError(`${member} must be an absolute URI without spaces or fragment`)
}

/** Returns `value`, an http or https URL to which a path can be appended; throws `TypeError`. */
export function requireBaseUrl(value: unknown, member: string): URL {
  const url =
    typeof value === 'string' && /^https?:\/\/[^\s?#\\]+$/i.test(value) && URL.parse(value)
  if (url && url.username === '' && url.password === '') return url
  const parts = 'user name, password, query or fragment'
  throw new TypeError(`${member} must be an http or https URL without ${parts}`)
}

/** The path of the metadata document below the address of its host. */
export const clientMetadataPath = '/.well-known/oauth-client-metadata'

/**
 * The `client_id` of a document below `publicUrl`: its https URL. Null when providers cannot fetch
 * it: no known address, plain http, or a loopback address. Throws `TypeError` for another address.
 */
export function clientIdAt(publicUrl: string | null): string | null {
  if (publicUrl === null) return null
  const { protocol, hostname, origin, pathname } = requireBaseUrl(publicUrl, 'publicUrl')
  if (protocol !== 'https:' || isLoopback(hostname)) return null
  return origin + withoutTrailingSlashes(pathname) + clientMetadataPath
}

export function withoutTrailingSlashes(url: string): string {
  return url.replace(/\/+$/, '')
}
