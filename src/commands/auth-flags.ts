import type { Interfaces } from '@oclif/core'
import * as Flags from '@oclif/core/flags'
import { ApiKeyConfig, keyVariable } from '../lib/auth/api-key-config.ts'
import { OAuthConfig } from '../lib/auth/oauth-config.ts'
import { parseSecret, readSecretFile } from '../lib/auth/secret-file.ts'
import { keysPath } from '../lib/config/paths.ts'
import { messageOf, usage } from '../lib/util/errors.ts'
import { isExposed } from '../lib/util/net.ts'
import type { AuthSettings, OAuthSettings } from '../server/auth/auth.ts'
import { findOpening, type Reached } from '../server/http/listen-options.ts'
import { checkPath } from './path-flags.ts'

export type AuthMode = AuthSettings['mode']

export const authModes = ['none', 'api-key', 'oauth'] as const satisfies readonly AuthMode[]

/** The authentication flags of `serve` and `gateway`; `readAuth` checks the values. */
export const authFlags = {
  auth: Flags.option({ options: authModes })({
    description: 'none, api-key or oauth [default: none; api-key once a key is made]',
    helpValue: 'MODE',
  }),
  'api-key-file': Flags.string({
    description: 'file with the key clients must present; overrides SERVICE_MCP_API_KEY',
    helpValue: 'FILE',
  }),
  'keys-file': Flags.string({
    description: 'file of the keys [default: client-keys.json beside config.toml]',
    helpValue: 'FILE',
  }),
  'allow-unauthenticated': Flags.boolean({
    description: 'allow other machines to connect without authentication',
  }),
  'oauth-issuer': Flags.string({
    description: 'the OAuth provider whose tokens are accepted, with --auth oauth',
    helpValue: 'URL',
  }),
  'oauth-audience': Flags.string({
    description: 'required audience of tokens [default: the address of /mcp]',
    helpValue: 'AUDIENCE',
  }),
  'oauth-scope': Flags.string({ description: 'required scope of tokens', helpValue: 'SCOPE' }),
  'oauth-write-scope': Flags.string({
    description: 'scope for answering notes and removing events (a gateway only reads)',
    helpValue: 'SCOPE',
  }),
  'oauth-client-name': Flags.string({
    description: 'name of the client in its metadata document',
    helpValue: 'TEXT',
  }),
  'oauth-redirect-uri': Flags.string({
    description: 'callback of the client; enables its metadata document',
    helpValue: 'URI',
  }),
}

/** The flags of authentication, as the parser returns them. */
export type AuthFlags = Omit<Partial<Interfaces.InferredFlags<typeof authFlags>>, 'auth'> & {
  auth?: AuthMode
}

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
  const { auth: asked, 'api-key-file': keyFile, 'allow-unauthenticated': isOpenMeant } = flags
  const key = await findApiKey(keyFile, env)
  const named = checkPath('keys-file', flags['keys-file'])
  const keysFile = named ?? keysPath(env)
  const isKeyFileRequired = await requiresKey(keysFile, named !== undefined)
  if (asked === 'none' || asked === 'oauth') {
    const given = keyFile === undefined ? keyVariable : '--api-key-file'
    const source = key === null ? keysFile : given
    if (key !== null || isKeyFileRequired) {
      throw usage(
        `--auth ${asked} would ignore the key of ${source}`,
        'omit --auth or the key; service-cli keys off revokes those of keys create',
      )
    }
  }
  if (asked === 'oauth') return readOAuth(flags)
  const given = Object.keys(authFlags).find(
    name => name.startsWith('oauth-') && flags[name as keyof AuthFlags] !== undefined,
  )
  if (given !== undefined) throw usage(`--${given} is for --auth oauth`, 'add --auth oauth')
  const opening = isOpenMeant ? null : findOpening(place)
  if (asked === 'api-key' || asked === 'accounts' || key !== null || isKeyFileRequired) {
    const mayOpen = asked === undefined && key === null && opening === null
    return { mode: asked ?? 'api-key', keysFile, key: key ?? undefined, mayOpen }
  }
  if (opening === null) return { mode: 'none', keysFile }
  throw usage(
    `${opening} exposes the server to the network without authentication`,
    'make a key with service-cli keys create, set SERVICE_MCP_API_KEY or --api-key-file, or pass --allow-unauthenticated if this is meant',
  )
}

/**
 * Whether clients need a key by this file; a missing one that the user named counts, as clients
 * were meant to need one. Throws `config_invalid` for a file that cannot be used.
 */
async function requiresKey(keysFile: string, isNamed: boolean): Promise<boolean> {
  // Loaded on demand: commands that only send a key need no schema of keys.
  const { readClientKeys } = await import('../lib/auth/client-keys.ts')
  const file = await readClientKeys(keysFile)
  return file === null ? isNamed : file.open !== true
}

/**
 * The warning in the log of a server without authentication; `info` for the default, a server for
 * this machine only. Null for a server with authentication.
 */
export function openWarning(access: Reached & { auth?: AuthSettings }, env: NodeJS.ProcessEnv) {
  if (access.auth !== undefined && access.auth.mode !== 'none') return null
  const isOpened = findOpening(access) !== null
  const who = isOpened ? 'everyone who can reach this server' : 'every account of this machine'
  // The operator probably meant to set a key.
  const isEmpty = env[keyVariable] === ''
  const why = isEmpty ? ` (${keyVariable} is set but empty)` : ''
  return {
    message: `no key is required${why}: ${who} can read what it serves`,
    level: isOpened || isEmpty ? ('warn' as const) : ('info' as const),
  }
}

/** Reads the key from the file, else from the variable; null when neither has a key. */
export async function findApiKey(
  file: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  if (file !== undefined) return readSecretFile(file, '--api-key-file')
  const key = new ApiKeyConfig().resolve(env)
  return key === null ? null : parseSecret(key, keyVariable)
}

function readOAuth(flags: AuthFlags): OAuthSettings {
  const issuer = flags['oauth-issuer']
  if (!issuer) {
    throw usage('--auth oauth needs the provider', 'name it with --oauth-issuer https://…')
  }
  if (!URL.canParse(issuer) || isExposed(issuer)) {
    throw usage('--oauth-issuer must be https; http is only for providers on this machine')
  }
  const { 'oauth-scope': requiredScope, 'oauth-write-scope': writeScope } = flags
  const { 'oauth-client-name': clientName, 'oauth-redirect-uri': redirectUri } = flags
  const scopes = [requiredScope, writeScope].filter(scope => scope !== undefined)
  try {
    new OAuthConfig({ providerUrl: issuer, redirectUri, scopes })
  } catch (error) {
    throw usage(`the flags of --auth oauth are invalid: ${messageOf(error)}`)
  }
  const audience = flags['oauth-audience'] || undefined
  return { mode: 'oauth', issuer, audience, requiredScope, writeScope, clientName, redirectUri }
}
