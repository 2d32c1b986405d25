import { checkSecretText } from '../lib/secret-file.ts'
import { defaultLimits, resolveLimits } from '../server/options.ts'
import type { ServeOptions } from '../server/serve-options.ts'
import { usage } from './address-flags.ts'
import { readLimitFlags } from './limit-flag.ts'
import {
  type AddressFlags,
  checkPath,
  type KeyFlags,
  readAddress,
  readApiKey,
  readRegistryDir,
} from './server-settings.ts'

/** The flags of `serve` as the parser returns them. */
export interface ServeFlags extends AddressFlags, KeyFlags {
  'dcc-type': string
  name?: string | undefined
  'registry-dir'?: string | undefined
  artefacts: boolean
  resources: boolean
  'scene-file'?: string | undefined
  'host-token-file'?: string | undefined
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
  const address = readAddress(flags)
  const apiKey = await readApiKey(address.host, flags, env)
  const registryDir = readRegistryDir(flags, env)
  const sceneFile = checkPath('scene-file', flags['scene-file'])
  const hostTokenFile = checkPath('host-token-file', flags['host-token-file'])
  const hostTokenEnv = env.SERVICE_HOST_TOKEN || null
  return {
    ...address,
    dccType: checkDccType(flags['dcc-type']),
    artefacts: flags.artefacts,
    resources: flags.resources,
    limits: readLimitFlags(flags.limit ?? [], [serverLimits]),
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
