import type { GatewayOptions } from '../server/gateway/options.ts'
import { type AuthFlags, readAuth } from './auth-settings.ts'
import { readServerLimits } from './server-limits.ts'
import { type AddressFlags, checkPath, readAddress, readRegistryDir } from './server-settings.ts'

/** The flags of `gateway` as the parser returns them. */
export interface GatewayFlags extends AddressFlags, AuthFlags {
  'registry-dir'?: string | undefined
  catalog?: string | undefined
  standby: boolean
  limit?: string[] | undefined
}

export type GatewaySettings = Omit<GatewayOptions, 'log' | 'accessLog' | 'onElection' | 'patient'>

/**
 * Flags and environment as checked settings. Throws `usage_invalid` naming the flag, or
 * `config_invalid` when the key file cannot be used.
 */
export async function readGatewaySettings(
  flags: GatewayFlags,
  env: NodeJS.ProcessEnv,
): Promise<GatewaySettings> {
  const address = readAddress(flags)
  const registryDir = readRegistryDir(flags, env)
  const auth = await readAuth({ ...address, registryDir }, flags, env)
  return {
    ...address,
    registryDir,
    auth,
    catalog: checkPath('catalog', flags.catalog),
    standby: flags.standby,
    limits: readServerLimits(flags.limit),
  }
}
