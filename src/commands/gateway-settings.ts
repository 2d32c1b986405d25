import type { GatewayOptions } from '../server/gateway/options.ts'
import { type McpServerFlags, readMcpServerSettings } from './mcp-server-settings.ts'
import { checkPath } from './server-settings.ts'

/** The flags of `gateway` as the parser returns them. */
export interface GatewayFlags extends McpServerFlags {
  catalog?: string | undefined
  standby: boolean
  aggregate?: boolean
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
  return {
    ...(await readMcpServerSettings(flags, env)),
    catalog: checkPath('catalog', flags.catalog),
    standby: flags.standby,
    aggregate: flags.aggregate,
  }
}
