/** The validated authentication settings for `/mcp` and `/artefacts`. */
export type AuthSettings = OpenSettings | ApiKeySettings | AccountsSettings | OAuthSettings

interface OpenSettings {
  readonly mode: 'none'
  /** Clients need a key as soon as this file has one. Absent: never. */
  readonly keysFile?: string
}

export interface ApiKeySettings {
  readonly mode: 'api-key'
  /** The configured key, accepted beside the named ones. Never empty. */
  readonly key?: string
  /** The file of named keys. Optional when `key` is set. */
  readonly keysFile: string
}

/** Users of the accounts server that the gateway accepts joins with, and all keys beside. */
interface AccountsSettings extends Omit<ApiKeySettings, 'mode'> {
  readonly mode: 'accounts'
}

export interface OAuthSettings {
  readonly mode: 'oauth'
  /** The issuer (`iss`) of the provider's tokens, http or https, unchanged. */
  readonly issuer: string
  /** The required audience of tokens. Absent: the address of `/mcp` that clients use. */
  readonly audience?: string
  /** A scope that every token must have. Absent: none. */
  readonly requiredScope?: string
  /** A scope that allows writing. Absent: tokens only read. */
  readonly writeScope?: string
  /** For `/.well-known/oauth-client-metadata`, which is served when there is a redirect URI. */
  readonly clientName?: string
  readonly redirectUri?: string
}
