import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { isLoopback } from '../lib/address.ts'
import { ApiKeyConfig } from '../lib/auth/api-key-config.ts'
import { nearest } from '../lib/cli/nearest.ts'
import { ServiceError } from '../lib/errors.ts'
import { parseOrigin } from '../lib/web-origin.ts'
import { checkSecretText, readSecretFile } from '../lib/secret-file.ts'
import { type Limits, defaultLimits, resolveLimits } from '../server/options.ts'
import type { ServeOptions } from '../server/serve-options.ts'

/** The flags of `serve` as the parser returns them. */
export interface ServeFlags {
  port: number
  host: string
  'public-url'?: string | undefined
  'allowed-host'?: string[] | undefined
  'allowed-origin'?: string[] | undefined
  'dcc-type': string
  name?: string | undefined
  'registry-dir'?: string | undefined
  artefacts: boolean
  resources: boolean
  'scene-file'?: string | undefined
  'host-token-file'?: string | undefined
  'api-key-file'?: string | undefined
  'allow-unauthenticated': boolean
  limit?: string[] | undefined
}

export type ServeSettings = Omit<ServeOptions, 'log' | 'accessLog'>

const maxNameChars = 200

/**
 * Flags and environment as checked settings. Throws `usage_invalid` naming the flag, or
 * `config_invalid` when the key file cannot be used.
 */
export async function readServeSettings(
  flags: ServeFlags,
  env: NodeJS.ProcessEnv,
): Promise<ServeSettings> {
  const host = checkHost(flags.host)
  const publicUrl = flags['public-url'] === undefined ? null : checkPublicUrl(flags['public-url'])
  const apiKey = await readApiKey(flags['api-key-file'], env)
  const allowUnauthenticated = flags['allow-unauthenticated']
  if (apiKey === null && !allowUnauthenticated && !isLoopback(host)) {
    throw usage(
      `--host ${host} lets other machines in and no key is asked of them`,
      'set SERVICE_MCP_API_KEY or --api-key-file, or pass --allow-unauthenticated if this is meant',
    )
  }
  const registryDir =
    checkPath('registry-dir', flags) ?? absolute(env.SERVICE_REGISTRY_DIR || undefined)
  const sceneFile = checkPath('scene-file', flags)
  const hostTokenFile = checkPath('host-token-file', flags)
  const hostTokenEnv = env.SERVICE_HOST_TOKEN || null
  return {
    port: flags.port,
    host,
    allowedHosts: (flags['allowed-host'] ?? []).map(checkAllowedHost),
    allowedOrigins: (flags['allowed-origin'] ?? []).map(checkAllowedOrigin),
    dccType: checkDccType(flags['dcc-type']),
    artefacts: flags.artefacts,
    resources: flags.resources,
    limits: readLimits(flags.limit ?? []),
    ...(publicUrl !== null && { publicUrl }),
    ...(flags.name !== undefined && { name: checkName(flags.name) }),
    ...(registryDir !== undefined && { registryDir }),
    ...(sceneFile !== undefined && { sceneFile }),
    ...(hostTokenFile !== undefined && { hostTokenFile }),
    ...(hostTokenEnv !== null && {
      hostTokenEnv: checkSecretText(hostTokenEnv, 'SERVICE_HOST_TOKEN'),
    }),
    ...(apiKey !== null && { apiKey }),
  }
}

/** The file before the variable; a key that is configured but unusable is an error, not "no key". */
async function readApiKey(
  file: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  if (file !== undefined) return readSecretFile(file, '--api-key-file')
  const config = new ApiKeyConfig()
  const key = config.resolve(env)
  return key === null ? null : checkSecretText(key, config.envVar)
}

function readLimits(words: readonly string[]): Partial<Limits> {
  const limits: Partial<Limits> = {}
  for (const word of words) {
    const [name = '', value] = word.split('=', 2)
    if (!isLimitName(name)) {
      const similar = nearest(name, Object.keys(defaultLimits))
      throw usage(
        `--limit ${word}: there is no limit "${name}"`,
        similar === undefined ? 'docs/limits.md lists them' : `did you mean ${similar}?`,
      )
    }
    if (value === undefined || !/^\d{1,15}$/.test(value)) {
      throw usage(`--limit ${word}: expected ${name}=NUMBER, a whole number`)
    }
    limits[name] = Number(value)
    try {
      resolveLimits({ [name]: Number(value) })
    } catch (error) {
      throw usage(`--limit ${word}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return limits
}

function isLimitName(name: string): name is keyof Limits {
  return Object.hasOwn(defaultLimits, name)
}

function checkHost(value: string): string {
  const host = value.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(host)) return host
  throw usage(`--host ${value} is neither an address nor a host name`)
}

function checkPublicUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null
  const plain = url !== null && url.username + url.password + url.search + url.hash === ''
  if (plain && (url.protocol === 'http:' || url.protocol === 'https:')) return value
  throw usage('--public-url must be an http or https address without credentials, query or #')
}

function checkAllowedHost(value: string): string {
  if (/^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?$/i.test(value)) return value.toLowerCase()
  throw usage(`--allowed-host ${value} is not a host name`, 'write one name, as in studio.example')
}

function checkAllowedOrigin(value: string): string {
  const origin = parseOrigin(value)
  if (origin !== null) return origin
  throw usage(`--allowed-origin ${value} is not an origin`, 'write it as https://studio.example')
}

function checkDccType(value: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(value)) return value
  throw usage(`--dcc-type ${value} must be lower-case letters, digits, - and _`, 'as in blender')
}

function checkName(value: string): string {
  if (value !== '' && value.length <= maxNameChars && !/[\x00-\x1f\x7f-\x9f]/.test(value)) {
    return value
  }
  throw usage(`--name must be 1 to ${maxNameChars} characters on one line`)
}

function checkPath(
  flag: 'registry-dir' | 'scene-file' | 'host-token-file',
  flags: ServeFlags,
): string | undefined {
  if (flags[flag] === '') throw usage(`--${flag} is empty`, 'a variable in your shell may be unset')
  return absolute(flags[flag])
}

/** Adapters read these paths from a record, in folders of their own. */
function absolute(path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(path)
}

function usage(message: string, hint?: string): ServiceError {
  return new ServiceError('usage_invalid', message, { hint })
}
