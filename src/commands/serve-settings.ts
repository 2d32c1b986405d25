import { resolve } from 'node:path'
import { isLoopback } from '../lib/address.ts'
import { checkSecretText } from '../lib/secret-file.ts'
import { defaultLimits, resolveLimits } from '../server/options.ts'
import type { ServeOptions } from '../server/serve-options.ts'
import {
  checkAllowedHost,
  checkAllowedOrigin,
  checkHost,
  checkPublicUrl,
  usage,
} from './address-flags.ts'
import { readApiKey } from './api-key.ts'
import { readLimitFlags } from './limit-flag.ts'

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

const serverLimits = { names: Object.keys(defaultLimits), check: resolveLimits }

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
    limits: readLimitFlags(flags.limit ?? [], [serverLimits]),
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
