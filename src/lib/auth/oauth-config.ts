import { isLoopback } from '../util/net.ts'
import {
  CimdDocument,
  clientIdAt,
  clientMetadataPath,
  requireBaseUrl,
  requireUri,
  withoutTrailingSlashes,
} from './cimd-document.ts'

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
    return withoutTrailingSlashes(this.providerUrl) + path
  }
}

/** True for https, and for http on this machine: the keys cannot be replaced in transit. */
export function isSafeFetchUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
}
