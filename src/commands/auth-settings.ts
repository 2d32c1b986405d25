import { isLoopback, withoutBrackets } from '../lib/util/net.ts'
import { ApiKeyConfig, keyVariable } from '../lib/auth/api-key-config.ts'
import { keysPath } from '../lib/config/paths.ts'
import { readKeysFile } from '../lib/auth/keys-file.ts'
import { checkSecretText, readSecretFile } from '../lib/auth/secret-file.ts'
import { usage } from '../lib/util/errors.ts'
import type { AuthSettings } from '../server/auth/settings.ts'
import type { ListenOptions } from '../server/http/listen-options.ts'
import { type AuthMode, decideMode } from './auth-mode.ts'
import { type OAuthFlags, readOAuth, refuseOAuthFlags } from './oauth-settings.ts'
import { checkPath } from './server-settings.ts'

/** The flags of authentication, as the parser returns them. */
export interface AuthFlags extends OAuthFlags {
  auth?: AuthMode
  'api-key-file'?: string
  'keys-file'?: string
  'allow-unauthenticated': boolean
}

/** Where clients reach a server. */
export type Reached = Pick<ListenOptions, 'host' | 'publicUrl' | 'trustedProxies'>

/** What `serve` and `gateway` know of their clients. */
export type Access = Reached & { readonly auth?: AuthSettings }

/**
 * Who may use the server. A key that is configured is never ignored: without `--auth` it is asked
 * for, and another mode beside it is refused; one that cannot be used is an error, not "no key".
 * Throws `usage_invalid` naming the flag, or `config_invalid`.
 */
export async function readAuth(
  place: Reached,
  flags: AuthFlags,
  env: NodeJS.ProcessEnv,
): Promise<AuthSettings> {
  const file = flags['api-key-file']
  const key = await findApiKey(file, env)
  const path = checkPath('keys-file', flags['keys-file'])
  const keysFile = path ?? keysPath(env)
  // A named file that is missing counts as one without keys: clients were meant to need a key.
  const named = (await readKeysFile(keysFile)) ?? (path === undefined ? null : [])
  const source = key === null ? null : file === undefined ? keyVariable : '--api-key-file'
  const mode = decideMode(flags.auth, { source, keysFile, named }, Date.now())
  if (!mode.ok) throw mode.failure
  if (mode.value === 'oauth') return readOAuth(flags)
  refuseOAuthFlags(flags)
  if (mode.value !== 'none') {
    return { mode: mode.value, keysFile, key: key ?? undefined }
  }
  const opening = findOpening(place)
  if (!flags['allow-unauthenticated'] && opening !== null) {
    throw usage(
      `${opening} exposes the server to the network without authentication`,
      'make a key with service-cli keys create, set SERVICE_MCP_API_KEY or --api-key-file, or pass --allow-unauthenticated if this is meant',
    )
  }
  return { mode: 'none', keysFile }
}

/**
 * The flag by which other machines come in, or null. Behind a proxy the address that is bound says
 * nothing: to the server, the proxy is a client of this machine.
 */
export function findOpening({ host, publicUrl, trustedProxies = [] }: Reached): string | null {
  if (!isLoopback(host)) return `--host ${host}`
  if (publicUrl !== undefined && !isLoopback(withoutBrackets(new URL(publicUrl).hostname))) {
    return `--public-url ${publicUrl}`
  }
  const [proxy] = trustedProxies
  return proxy === undefined ? null : `--trusted-proxy ${proxy}`
}

/** For a banner. */
export function describeAccess(access: Access) {
  return {
    keyed: access.auth?.mode === 'api-key',
    tokens: access.auth?.mode === 'oauth' || access.auth?.mode === 'accounts',
    accounts: access.auth?.mode === 'accounts',
    loopback: findOpening(access) === null,
  }
}

/** Reads the key from the file, else from the variable; null when neither has a key. */
export async function findApiKey(
  file: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  if (file !== undefined) return readSecretFile(file, '--api-key-file')
  const key = new ApiKeyConfig().resolve(env)
  return key === null ? null : checkSecretText(key, keyVariable)
}
