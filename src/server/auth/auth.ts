import { type ClientKey, keyDigest, keyPrefix } from '../../lib/auth/client-keys.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { Secret } from '../../lib/util/secret.ts'
import type { Timer } from '../../lib/util/time.ts'
import {
  type AuthOutcome,
  type AuthPolicy,
  type AuthRefused,
  keyHolder,
  keyMalformed,
  keyMissing,
  openAccess,
  openPolicy,
  refuse,
} from '../http/authentication.ts'
import type { PublicDocuments } from '../http/public-routes.ts'
import { type AccountTokens, tokenUnknown, withAccountTokens } from './account-tokens.ts'
import { FailureLimit } from './failure-limit.ts'
import { FollowedKeys, keyPrincipal } from './followed-keys.ts'

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
  const isOpen = mode === 'none'
  const key = isOpen ? undefined : settings.key
  const mayOpen = isOpen || settings.mayOpen === true
  const parts = { path: keysFile, startsOpen: isOpen, mayOpen, log, timer }
  const followed = await FollowedKeys.open(parts)
  if (mode === 'api-key' && key === undefined && followed.size === 0) {
    const ways = 'make one with service-cli keys create, or run service-cli keys off'
    log.warn({ keysFile }, `no client gets in, as there is no key: ${ways}`)
  }
  const unknown = mode === 'accounts' ? tokenUnknown : keyUnknown
  const keys = createKeyPolicy({ followed, key, unknown, failures })
  return {
    policy: accounts && mode === 'accounts' ? withAccountTokens(keys, accounts, failures) : keys,
    documents: new Map(),
    close: () => followed.close(),
  }
}

/** Accepts the keys of the file, and `key`, if any. `unknown` is the refusal of what is no key. */
function createKeyPolicy(parts: {
  followed: FollowedKeys
  key: string | undefined
  unknown: AuthRefused
  failures: FailureLimit
}): AuthPolicy {
  const { followed, key, unknown, failures } = parts
  const configured = key === undefined ? null : new Secret(key)

  function accept(key: ClientKey): AuthOutcome {
    const expiresAtMs = key.expires_at === undefined ? undefined : Date.parse(key.expires_at)
    if (expiresAtMs !== undefined && expiresAtMs <= Date.now()) return expired
    return { ok: true, principal: keyPrincipal(key), mayWrite: key.scope === 'write', expiresAtMs }
  }

  function decide(sent: string | undefined): AuthOutcome {
    if (followed.isOpen) return openAccess
    if (sent === undefined) return keyMissing
    const token = bearerToken(sent)
    if (token === null) return keyMalformed
    // The file comes first: the configured key may also stand there, with the scope `read`.
    const known = token.startsWith(keyPrefix) ? followed.find(keyDigest(token)) : undefined
    if (known !== undefined) return accept(known)
    return configured?.equals(token) === true ? keyHolder : unknown
  }

  function counted(outcome: AuthOutcome, peer: string): AuthOutcome | Promise<AuthOutcome> {
    const isGuess = !outcome.ok && outcome !== keyMissing
    return isGuess ? failures.refused(peer, outcome) : outcome
  }

  return {
    authenticate({ headers, peer }) {
      const sent = headers.authorization
      const now = followed.isFresh() ? decide(sent) : unknown
      if (now !== unknown) return counted(now, peer)
      // The key may have been made a moment ago.
      return followed.look().then(() => counted(decide(sent), peer))
    },
    onRevoked: listener => followed.onRevoked(listener),
  }
}

const keyUnknown = refuse(
  401,
  'invalid_token',
  'this server does not know the API key, or it was revoked',
)

const expired = refuse(
  401,
  'invalid_token',
  'the API key has expired: make a new one with service-cli keys create',
)
