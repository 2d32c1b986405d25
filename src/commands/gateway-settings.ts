import { type AuthLimits, defaultAuthLimits, resolveAuthLimits } from '../server/auth/limits.ts'
import {
  defaultGatewayLimits,
  type GatewayLimits,
  resolveGatewayLimits,
} from '../server/gateway/limits.ts'
import type { GatewayOptions } from '../server/gateway-options.ts'
import { defaultLimits, type Limits, resolveLimits } from '../server/options.ts'
import { type AuthFlags, readAuth } from './auth-settings.ts'
import { type LimitSet, readLimitFlags } from './limit-flag.ts'
import { type AddressFlags, checkPath, readAddress, readRegistryDir } from './server-settings.ts'

/** The flags of `gateway` as the parser returns them. */
export interface GatewayFlags extends AddressFlags, AuthFlags {
  'registry-dir'?: string | undefined
  catalog?: string | undefined
  standby: boolean
  'replace-unresponsive': boolean
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
  const catalog = checkPath('catalog', flags.catalog)
  const { limits, gatewayLimits, authLimits } = readServerLimits(flags.limit ?? [])
  return {
    ...address,
    auth,
    standby: flags.standby,
    replaceUnresponsive: flags['replace-unresponsive'],
    limits,
    gatewayLimits,
    authLimits,
    ...(registryDir !== undefined && { registryDir }),
    ...(catalog !== undefined && { catalog }),
  }
}

const serverNames = Object.keys(defaultLimits)
const gatewayNames = Object.keys(defaultGatewayLimits)
const authNames = Object.keys(defaultAuthLimits)

/** Bounds of every server, of the gateway, of authentication and of `more`, each where it belongs. */
export function readServerLimits(
  words: readonly string[],
  more: readonly LimitSet[] = [],
): {
  limits: Partial<Limits>
  gatewayLimits: Partial<GatewayLimits>
  authLimits: Partial<AuthLimits>
  moreLimits: Record<string, number>
} {
  const all = readLimitFlags(words, [
    { names: serverNames, check: resolveLimits },
    { names: gatewayNames, check: resolveGatewayLimits },
    { names: authNames, check: resolveAuthLimits },
    ...more,
  ])
  const pick = (names: readonly string[]) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
  return {
    limits: pick(serverNames),
    gatewayLimits: pick(gatewayNames),
    authLimits: pick(authNames),
    moreLimits: pick(more.flatMap(({ names }) => names)),
  }
}
