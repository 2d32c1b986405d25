import { isLoopback } from '../util/net.ts'

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

/** Returns `uri`, which must be absolute, of any scheme, without a fragment (RFC 6749, 3.1.2). */
export function requireUri(uri: string, member: string): string {
  if (/^[^\s#\\]+$/.test(uri) && URL.canParse(uri)) return uri
  throw new TypeError(`${member} must be an absolute URI without spaces or fragment`)
}

/** Parses an http or https URL to which a path can be appended; throws `TypeError` for others. */
export function requireBaseUrl(text: string, member: string): URL {
  const url = /^https?:\/\/[^\s?#@\\]+$/i.test(text) ? URL.parse(text) : null
  if (url !== null) return url
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
