import type { Logger } from '../../lib/util/logger.ts'
import type { Timer } from '../../lib/util/time.ts'
import { type AuthPolicy, openPolicy } from '../http/authentication.ts'
import type { PublicDocuments } from '../http/public-routes.ts'
import { type AccountTokens, tokenUnknown, withAccountTokens } from './account-tokens.ts'
import { FailureLimit } from './failure-limit.ts'
import { KeyPolicy } from './key-policy.ts'

/** The validated authentication settings for `/mcp` and `/artefacts`. */
export type AuthSettings = OpenSettings | KeySettings | OAuthSettings

interface OpenSettings {
  readonly mode: 'none'
  /** Clients need a key as soon as this file has one. Absent: never. */
  readonly keysFile?: string
}

interface KeySettings {
  /** `accounts`: the tokens of the accounts server that joins are accepted with, beside all keys. */
  readonly mode: 'api-key' | 'accounts'
  readonly keysFile: string
  /** The key of the configuration, accepted beside those of the file. Never empty. */
  readonly key?: string
  /** `keys off` opens the server while it runs. Default: false. */
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
  const { mode, keysFile } = settings
  if (keysFile === undefined) return { policy: openPolicy, documents: new Map(), close() {} }
  const { log, timer, accounts, failures = new FailureLimit() } = deps
  const startsOpen = mode === 'none'
  const key = startsOpen ? undefined : settings.key
  const mayOpen = startsOpen || settings.mayOpen === true
  const unknown = mode === 'accounts' ? tokenUnknown : undefined
  const parts = { path: keysFile, key, startsOpen, mayOpen, unknown, failures, log, timer }
  const keys = await KeyPolicy.open(parts)
  const withTokens = mode === 'accounts' && accounts !== undefined
  return {
    policy: withTokens ? withAccountTokens(keys.policy, accounts, failures) : keys.policy,
    documents: new Map(),
    close: () => keys.close(),
  }
}
