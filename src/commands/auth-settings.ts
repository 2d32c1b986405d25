import { join } from 'node:path'
import { isLoopback } from '../lib/address.ts'
import { ApiKeyConfig } from '../lib/auth/api-key-config.ts'
import { selectRegistryDir } from '../lib/registry-path.ts'
import { checkSecretText, readSecretFile } from '../lib/secret-file.ts'
import type { AuthSettings } from '../server/auth/settings.ts'
import { usage } from './address-flags.ts'
import { type OAuthFlags, readOAuth, refuseOAuthFlags } from './oauth-settings.ts'

/** The flags of authentication, as the parser returns them. */
export interface AuthFlags extends OAuthFlags {
  auth?: 'none' | 'api-key' | 'oauth' | undefined
  'api-key-file'?: string | undefined
  'allow-unauthenticated': boolean
}

export interface AuthPlace {
  /** The address to bind. */
  readonly host: string
  /** As chosen by flag or variable; undefined: the default. */
  readonly registryDir: string | undefined
}

/**
 * Who may use the server. A key that is configured is never ignored: without `--auth` it is asked
 * for, and `--auth none` beside it is refused; one that cannot be used is an error, not "no key".
 * Throws `usage_invalid` naming the flag, or `config_invalid`.
 */
export async function readAuth(
  { host, registryDir }: AuthPlace,
  flags: AuthFlags,
  env: NodeJS.ProcessEnv,
): Promise<AuthSettings> {
  const key = await findApiKey(flags['api-key-file'], env)
  const keysFile = join(selectRegistryDir(registryDir, env), 'keys.json')
  if (flags.auth === 'oauth') return readOAuth(flags)
  refuseOAuthFlags(flags)
  const mode = flags.auth ?? (key === null ? 'none' : 'api-key')
  if (mode === 'api-key') return { mode, keysFile, ...(key !== null && { key }) }
  if (!flags['allow-unauthenticated'] && !isLoopback(host)) {
    throw usage(
      `--host ${host} lets other machines in and no key is asked of them`,
      'set SERVICE_MCP_API_KEY or --api-key-file, or pass --allow-unauthenticated if this is meant',
    )
  }
  return { mode }
}

/** Of the file, else of the variable; null when there is none. */
export async function findApiKey(
  file: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  if (file !== undefined) return readSecretFile(file, '--api-key-file')
  const config = new ApiKeyConfig()
  const key = config.resolve(env)
  return key === null ? null : checkSecretText(key, config.envVar)
}
