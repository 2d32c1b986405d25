import {
  optionalText,
  requireBaseUrl,
  requireList,
  requireNavigableUri,
  requireText,
  withoutTrailingSlashes,
} from './checked-members.ts'
import { CimdDocument, clientIdAt, clientMetadataPath } from './cimd-document.ts'
import { isLoopback } from '../util/address.ts'
import { fail, ok, type Result } from '../util/result.ts'

/** Settings of an OAuth client; only `providerUrl` is required. */
export interface OAuthOptions {
  /** Base URL of the OAuth provider, http or https; slashes at its end make no difference. */
  providerUrl: string
  /** Client id registered beforehand. Default null: registration by metadata document. */
  clientId?: string | null
  /** Scopes to ask for, one per item. Default empty. */
  scopes?: readonly string[]
  /** For people: shown in the consent dialog. Default `service-mcp-server`. */
  clientName?: string | undefined
  /** The redirect URI of the metadata document when `toCimdDocument` gets none. Default null. */
  redirectUri?: string | null
}

export interface ToCimdOptions {
  /** Takes the place of the `redirectUri` of the configuration. */
  redirectUri?: string | null
  /** Address below which the document will be served. Public and https: `client_id` follows. */
  publicUrl?: string | null
}

/**
 * OAuth 2.1 with a public client (PKCE, no secret). Declares, and enforces nothing: no request is
 * made, and the endpoints are derived from `providerUrl` as text, by the fixed paths below. A
 * provider that publishes RFC 8414 or OpenID metadata may have others. Empty texts count as absent.
 */
export class OAuthConfig {
  /** As it was given. */
  readonly providerUrl: string
  /** The id registered beforehand, or null. */
  readonly clientId: string | null
  /** A frozen copy. */
  readonly scopes: readonly string[]
  readonly clientName: string
  readonly redirectUri: string | null

  /**
   * Throws `TypeError` without a provider, for a provider URL with another scheme, user name,
   * password, query or fragment, for a redirect URI that is relative, has a fragment or a scheme
   * such as `javascript`, and for a scope that no request could carry (RFC 6749, section 3.3).
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
   * `<providerUrl>/.well-known/oauth-client-metadata`. Where a document is served from its own host,
   * its `client_id` says so instead.
   */
  get wellKnownUrl(): string {
    return this.#below(clientMetadataPath)
  }

  /**
   * The metadata document of this client; its `scope` is the scopes with a space between them. It
   * has a `client_id`, the URL of the document, when `publicUrl` is https and not an address of
   * this machine; the id registered beforehand never appears in it. Throws `TypeError` when neither
   * the options nor the configuration have a redirect URI, and for a `publicUrl` that is no URL.
   */
  toCimdDocument(options: ToCimdOptions = {}): CimdDocument {
    if (typeof options !== 'object') {
      throw new TypeError('toCimdDocument takes its options as an object: { redirectUri }')
    }
    const redirectUri = optionalUri(options.redirectUri) ?? this.redirectUri
    if (redirectUri === null) {
      throw new TypeError(
        'no redirect URI: give redirectUri to toCimdDocument or to the OAuthConfig',
      )
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
 * The issuer identifier of an OAuth provider (RFC 8414, section 2), as it was given: tokens and the
 * provider's own documents must name it character by character. The failure says what is wrong.
 */
export function parseIssuerUrl(text: string): Result<string, string> {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) {
    return fail('the issuer must be an https address, like https://login.studio.example/realms/a')
  }
  const url = new URL(text)
  if (!isSafeFetchUrl(url)) {
    return fail('the issuer must be https; http is for providers on this machine alone')
  }
  if (url.username !== '' || url.password !== '') {
    return fail('the issuer must not have a user name or a password in it')
  }
  if (text.includes('?') || text.includes('#')) {
    return fail('the issuer must not have a query or a fragment')
  }
  return ok(text)
}

/** https, or plain http on this machine: the keys cannot be replaced in transit. */
export function isSafeFetchUrl(url: URL): boolean {
  if (url.protocol === 'https:') return true
  return url.protocol === 'http:' && isLoopback(url.hostname)
}
