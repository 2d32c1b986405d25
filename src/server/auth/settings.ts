import type { MovedKeys } from '../../lib/config/account-keys.ts'

/** How `serve` and `gateway` decide who may use `/mcp` and `/artefacts`: checked values. */
export type AuthSettings = OpenSettings | ApiKeySettings | OAuthSettings

interface OpenSettings {
  readonly mode: 'none'
  /** Clients must present a key as soon as this file has one. Absent: never. */
  readonly keysFile?: string | undefined
}

export interface ApiKeySettings {
  readonly mode: 'api-key'
  /** One key of the configuration, accepted beside the named ones. Never empty. */
  readonly key?: string | undefined
  /** The file of named keys. It may be missing as long as there is `key`. */
  readonly keysFile: string
  /** Older files whose keys were just moved there; for the log. */
  readonly movedFrom?: readonly MovedKeys[] | undefined
}

export interface OAuthSettings {
  readonly mode: 'oauth'
  /** The provider: the `iss` of its tokens, http or https, as it was given. */
  readonly issuer: string
  /** What tokens must be issued for. Absent: the address of `/mcp` that clients use. */
  readonly audience?: string | undefined
  /** Audiences that a token may have beside it. Absent: none, it must be for this server alone. */
  readonly otherAudiences?: readonly string[] | undefined
  /** How the provider marks access tokens (`typ`). Default `at+jwt`; `jwt` takes unmarked ones too. */
  readonly tokenType?: 'at+jwt' | 'jwt' | undefined
  /** A scope that every token must have. Absent: none is asked for. */
  readonly requiredScope?: string | undefined
  /** A scope that makes a token good for more than reading. Absent: tokens only read. */
  readonly writeScope?: string | undefined
  /** For `/.well-known/oauth-client-metadata`, which is served when there is a redirect URI. */
  readonly clientName?: string | undefined
  readonly redirectUri?: string | undefined
}
