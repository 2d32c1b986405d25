import type { GatewayOptions } from '../server/gateway/options.ts'
import { type McpServerFlags, readMcpServerSettings } from './mcp-server-settings.ts'
import { requireAccountsUrl } from '../lib/config/accounts-url.ts'
import { usage } from '../lib/util/errors.ts'
import { checkPath } from './server-settings.ts'

/** The flags of `gateway` as the parser returns them. */
export interface GatewayFlags extends McpServerFlags {
  catalog?: string | undefined
  standby: boolean
  aggregate?: boolean
  'accept-joins'?: string | undefined
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
    acceptJoins: readAcceptJoins(flags),
  }
}

function readAcceptJoins(flags: GatewayFlags): GatewaySettings['acceptJoins'] {
  const accounts = flags['accept-joins']
  if (accounts === undefined) return undefined
  if (flags.aggregate !== true) throw usage('--accept-joins is for --aggregate', 'add --aggregate')
  return requireAccountsUrl(accounts, '--accept-joins')
}
