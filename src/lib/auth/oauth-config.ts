import {
  optionalText,
  requireBaseUrl,
  requireList,
  requireNavigableUri,
  requireText,
  withoutTrailingSlashes,
} from './checked-members.ts'
import { CimdDocument, clientIdAt, clientMetadataPath } from './cimd-document.ts'
import { isLoopback } from '../util/net.ts'
import { fail, ok, type Result } from '../util/result.ts'

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
  /** The unchanged option. */
  readonly providerUrl: string
  /** The pre-registered id, or null. */
  readonly clientId: string | null
  /** A frozen copy. */
  readonly scopes: readonly string[]
  readonly clientName: string
  readonly redirectUri: string | null

  /**
   * Throws `TypeError` for a missing provider, a provider URL with another scheme, user name,
   * password, query or fragment, a redirect URI that is relative, has a fragment or a scheme such
   * as `javascript`, and an invalid scope (RFC 6749, section 3.3).
   */
  constructor(options: OAuthOptions) {
    this.providerUrl = requireBaseUrl(options.providerUrl, 'providerUrl')
    this.clientId = optionalText(options.clientId, 'clientId')
    this.scopes = requireList(options.scopes ?? [], 'scopes', requireScope)
    this.clientName = requireText(options.clientName || 'service-mcp-server', 'clientName')
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
    if (typeof options !== 'object') {
      throw new TypeError('toCimdDocument expects an options object: { redirectUri }')
    }
    const redirectUri = optionalUri(options.redirectUri) ?? this.redirectUri
    if (redirectUri === null) {
      throw new TypeError('missing redirectUri: pass it to toCimdDocument or to the OAuthConfig')
    }
    return new CimdDocument({
      clientName: this.clientName,
      redirectUris: [redirectUri],
      scope: this.scopes.join(' '),
      clientId: clientIdAt(optionalText(options.publicUrl, 'publicUrl')),
    })
  }

  #below(path: string): string {
    return withoutTrailingSlashes(this.providerUrl) + path
  }
}

function optionalUri(value: unknown): string | null {
  const text = optionalText(value, 'redirectUri')
  return text === null ? null : requireNavigableUri(text, 'redirectUri')
}

function requireScope(value: unknown, member: string): string {
  const scope = requireText(value, member)
  if (/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) return scope
  throw new TypeError(`${member} must be one scope: visible ASCII without spaces, " and \\`)
}

/**
 * Validates the issuer identifier of an OAuth provider (RFC 8414, section 2) and returns it
 * unchanged: tokens and provider metadata must contain exactly this text.
 */
export function parseIssuerUrl(text: string): Result<string, string> {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) {
    return fail('the issuer must be an https address, like https://login.studio.example/realms/a')
  }
  const url = new URL(text)
  if (!isSafeFetchUrl(url)) {
    return fail('the issuer must be https; http is only for providers on this machine')
  }
  if (url.username !== '' || url.password !== '') {
    return fail('the issuer must not contain a user name or password')
  }
  if (text.includes('?') || text.includes('#')) {
    return fail('the issuer must not have a query or a fragment')
  }
  return ok(text)
}

/** True for https, and for http on this machine: the keys cannot be replaced in transit. */
export function isSafeFetchUrl(url: URL): boolean {
  if (url.protocol === 'https:') return true
  return url.protocol === 'http:' && isLoopback(url.hostname)
}
