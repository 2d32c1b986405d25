import {
  optionalText,
  requireBaseUrl,
  requireList,
  requireNavigableUri,
  requireText,
  requireUri,
  withoutTrailingSlashes,
} from './checked-members.ts'
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
 * `toDict()` is the JSON for `/.well-known/oauth-client-metadata`. Providers fetch it from its
 * `client_id` and may read only 5 KB. Lists are copied and frozen.
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

  /**
   * Throws `TypeError` without a name or a redirect URI, for a URI that is relative, has a fragment
   * or a scheme such as `javascript`, `data` or `file`, for a token endpoint method with a shared
   * secret (the document is public), for a client id that is not the https URL of a document, and
   * for members of the wrong type.
   */
  constructor(options: CimdOptions) {
    this.clientName = requireText(options.clientName, 'clientName')
    this.redirectUris = requireList(options.redirectUris, 'redirectUris', requireNavigableUri)
    if (this.redirectUris.length === 0) {
      throw new TypeError('redirectUris must name at least one redirect URI')
    }
    this.grantTypes = requireList(options.grantTypes ?? ['authorization_code'], 'grantTypes')
    this.responseTypes = requireList(options.responseTypes ?? ['code'], 'responseTypes')
    this.tokenEndpointAuthMethod = requirePublicMethod(options.tokenEndpointAuthMethod ?? 'none')
    this.scope = optionalText(options.scope, 'scope')
    this.logoUri = optionalUri(options.logoUri, 'logoUri')
    this.clientUri = optionalUri(options.clientUri, 'clientUri')
    this.contacts = requireList(options.contacts ?? [], 'contacts')
    const clientId = optionalText(options.clientId, 'clientId')
    this.clientId = clientId === null ? null : requireClientId(clientId, 'clientId')
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

function optionalUri(value: unknown, member: string): string | null {
  const text = optionalText(value, member)
  return text === null ? null : requireNavigableUri(text, member)
}

function requirePublicMethod(value: unknown): string {
  const method = requireText(value, 'tokenEndpointAuthMethod')
  if (!method.startsWith('client_secret_')) return method
  throw new TypeError(
    'tokenEndpointAuthMethod must not use a shared secret: the document is public; use "none"',
  )
}

/** The path of the metadata document below the address of its host. */
export const clientMetadataPath = '/.well-known/oauth-client-metadata'

/**
 * The `client_id` of a document below `publicUrl`: its https URL. Null when providers cannot fetch
 * it: no known address, plain http, or a loopback address. Throws `TypeError` unless `publicUrl` is
 * an http or https URL.
 */
export function clientIdAt(publicUrl: string | null): string | null {
  if (publicUrl === null) return null
  // Providers compare it exactly: use the normal form of a URL parser.
  const { protocol, hostname, origin, pathname } = new URL(requireBaseUrl(publicUrl, 'publicUrl'))
  if (protocol !== 'https:' || isLoopback(hostname)) return null
  return origin + withoutTrailingSlashes(pathname) + clientMetadataPath
}

/**
 * Returns `value`; throws `TypeError` unless it is an https URL with a path, without `.` and `..`
 * segments, user name and fragment, as providers require.
 */
function requireClientId(value: unknown, member: string): string {
  const text = requireUri(value, member)
  const { protocol, pathname, username, password } = new URL(text)
  const dots = /\/\.{1,2}(?=[/?]|$)/.test(text)
  if (protocol === 'https:' && pathname !== '/' && username + password === '' && !dots) return text
  throw new TypeError(`${member} must be the https URL of the document, with a path`)
}
