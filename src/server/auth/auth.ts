import type { Logger } from '../../lib/util/logger.ts'
import type { Timer } from '../../lib/util/time.ts'
import { type AuthPolicy, openPolicy } from '../http/authentication.ts'
import type { PublicDocuments } from '../http/public-routes.ts'
import { type AccountTokens, withAccountTokens } from './account-tokens.ts'
import { FailureLimit } from './failure-limit.ts'
import { KeyPolicy } from './key-policy.ts'

/** The validated authentication settings for `/mcp` and `/artefacts`. */
export type AuthSettings =
  { readonly mode: 'none'; keysFile?: undefined } | KeySettings | OAuthSettings

export interface KeySettings {
  /**
   * `none`: clients need a key as soon as the file has one. `accounts`: the tokens of the accounts
   * server that joins are accepted with, beside all keys.
   */
  readonly mode: 'none' | 'api-key' | 'accounts'
  readonly keysFile: string
  /** The key of the configuration, accepted beside those of the file. Never empty. */
  readonly key?: string
  /** `keys off` opens the server while it runs. Default: false, but true for `none`. */
  readonly mayOpen?: boolean
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

/** The authentication of a server. */
export interface Auth {
  readonly policy: AuthPolicy
  /** Public JSON documents by path, such as `/.well-known/oauth-protected-resource`. */
  readonly documents: PublicDocuments
  close(): void
}

export interface AuthDeps {
  /**
   * The address of `/mcp` that clients use, without a trailing slash. With port 0 it is valid only
   * once the server listens: call it per request.
   */
  readonly mcpUrl: () => string
  readonly log: Logger
  /** The accounts server, for the mode `accounts`. */
  readonly accounts?: AccountTokens
  readonly failures?: FailureLimit
  readonly timer?: Timer
}

/**
 * Creates the authentication of a server. Close it after the server has stopped. Throws
 * `config_invalid` for an unusable keys file: a server must not start open because its keys are
 * unreadable.
 */
export async function createAuth(settings: AuthSettings, deps: AuthDeps): Promise<Auth> {
  if (settings.mode === 'oauth') {
    // Loaded on demand: it imports the JWT library.
    const { createOAuth } = await import('./oauth.ts')
    return createOAuth(settings, deps)
  }
  if (settings.keysFile === undefined) {
    return { policy: openPolicy, documents: new Map(), close() {} }
  }
  const { accounts, failures = new FailureLimit(), log, timer } = deps
  const keys = await KeyPolicy.open(settings, { failures, log, timer })
  const withTokens = settings.mode === 'accounts' && accounts !== undefined
  return {
    policy: withTokens ? withAccountTokens(keys, accounts, failures) : keys,
    documents: new Map(),
    close: () => keys.close(),
  }
}
