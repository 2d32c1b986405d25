import { isLoopback } from '../util/net.ts'
import { fail, ok, type Result } from '../util/result.ts'
import {
  CimdDocument,
  clientIdAt,
  clientMetadataPath,
  requireBaseUrl,
  requireUri,
  withoutTrailingSlashes,
} from './cimd-document.ts'

/** Settings of an OAuth client; only `providerUrl` is required. */
export interface OAuthOptions {
  /** Base URL of the OAuth provider, http or https; trailing slashes are ignored. */
  providerUrl: string
  /** Pre-registered client id. Default null: use the metadata document. */
  clientId?: string | null
  /** Scopes to request, one per item. Default empty. */
  scopes?: readonly string[]
  /** The name in the consent dialog. Default `service-mcp-server`. */
  clientName?: string
  /** The default redirect URI for `toCimdDocument`. Default null. */
  redirectUri?: string | null
}

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
  readonly providerUrl: string
  /** The pre-registered id, or null. */
  readonly clientId: string | null
  readonly scopes: readonly string[]
  readonly clientName: string
  readonly redirectUri: string | null

  /** Throws `TypeError` for an unusable provider URL or redirect URI, and a scope with a space. */
  constructor(options: OAuthOptions) {
    requireBaseUrl(options.providerUrl, 'providerUrl')
    this.providerUrl = options.providerUrl
    this.clientId = options.clientId || null
    this.scopes = requireScopes(options.scopes ?? [])
    this.clientName = options.clientName || 'service-mcp-server'
    this.redirectUri = optionalUri(options.redirectUri)
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
    const redirectUri = optionalUri(options.redirectUri) ?? this.redirectUri
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

function optionalUri(value: string | null | undefined): string | null {
  return value ? requireUri(value, 'redirectUri') : null
}

/** A scope with a space would be two in the document. */
function requireScopes(scopes: readonly string[]): readonly string[] {
  const isValid = Array.isArray(scopes) && scopes.every(scope => /^[^\s"\\]+$/.test(scope))
  if (isValid) return [...scopes]
  throw new TypeError('scopes must be one scope per item, without spaces')
}

/**
 * Validates the issuer identifier of an OAuth provider (RFC 8414, section 2) and returns it
 * unchanged: tokens and provider metadata must contain exactly this text.
 */
export function parseIssuerUrl(text: string): Result<string, string> {
  const url = URL.parse(text)
  if (url === null || !/^https?:\/\/[^\s?#@\\]+$/.test(text)) {
    return fail('the issuer must be an address without user name, query and fragment')
  }
  if (isSafeFetchUrl(url)) return ok(text)
  return fail('the issuer must be https; http is only for providers on this machine')
}

/** True for https, and for http on this machine: the keys cannot be replaced in transit. */
export function isSafeFetchUrl(url: URL): boolean {
  if (url.protocol === 'https:') return true
  return url.protocol === 'http:' && isLoopback(url.hostname)
}
