import type { GatewayOptions } from '../server/gateway/options.ts'
import { type McpServerFlags, readMcpServerSettings } from './mcp-server-settings.ts'
import { requireAccountsUrl } from '../lib/config/accounts-url.ts'
import { usage } from '../lib/util/errors.ts'
import type { AuthMode } from './auth-settings.ts'
import { checkPath } from './server-settings.ts'

/** The flags of `gateway` as the parser returns them. */
export interface GatewayFlags extends McpServerFlags {
  catalog?: string
  'no-standby'?: boolean
  aggregate?: boolean
  'accept-joins'?: string
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
  const common = await readMcpServerSettings(flags, env)
  const { auth } = common
  const acceptJoins = readAcceptJoins(flags, auth.mode)
  // As at the start: without --auth none, what joins is read with a key only.
  return {
    ...common,
    auth: acceptJoins !== undefined && auth.mode === 'api-key' ? { ...auth, mayOpen: false } : auth,
    catalog: checkPath('catalog', flags.catalog),
    standby: flags['no-standby'] !== true,
    aggregate: flags.aggregate,
    acceptJoins,
  }
}

/** Clients of the gateway read what joined: without a key that is every user of its machine. */
function readAcceptJoins(flags: GatewayFlags, mode: AuthMode): GatewaySettings['acceptJoins'] {
  const accounts = flags['accept-joins']
  if (accounts === undefined) {
    if (mode !== 'accounts') return undefined
    throw usage('--auth accounts needs an accounts server', 'name it with --accept-joins URL')
  }
  if (flags.aggregate !== true) throw usage('--accept-joins is for --aggregate', 'add --aggregate')
  if (mode === 'none' && flags.auth !== 'none') {
    throw usage(
      '--accept-joins would let every user of this machine read the instances that join',
      'make a key with service-cli keys create; or add --auth none if all users may read them',
    )
  }
  return requireAccountsUrl(accounts, '--accept-joins')
}
