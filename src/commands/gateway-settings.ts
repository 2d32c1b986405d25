import type { GatewayOptions } from '../server/gateway/options.ts'
import { type McpServerFlags, readMcpServerSettings } from './mcp-server-settings.ts'
import { parseAccountsUrl, requireAccountsUrl } from '../lib/config/accounts-url.ts'
import { usage } from '../lib/util/errors.ts'
import { databaseVariable } from '../server/database/settings.ts'
import type { AuthMode } from './auth-mode.ts'
import { readDatabase } from './database-flag.ts'
import { checkPath } from './server-settings.ts'

/** The flags of `gateway` as the parser returns them. */
export interface GatewayFlags extends McpServerFlags {
  catalog?: string
  'no-standby'?: boolean
  aggregate?: boolean
  'accept-joins'?: string
  database?: string
  'peer-url'?: string
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
  return {
    ...common,
    catalog: checkPath('catalog', flags.catalog),
    standby: flags['no-standby'] !== true,
    aggregate: flags.aggregate,
    acceptJoins: readAcceptJoins(flags, common.auth.mode),
    shared: readShared(flags, env),
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

/** Without `--peer-url` the variable with the address of a database is that of other servers. */
function readShared(flags: GatewayFlags, env: NodeJS.ProcessEnv): GatewaySettings['shared'] {
  const { 'peer-url': peerUrl, 'accept-joins': accounts } = flags
  if (peerUrl === undefined) {
    if (flags.database === undefined) return undefined
    const hint = 'add --peer-url with the address at which the other gateways reach this one'
    throw usage('--database is for several gateways, which ask each other', hint)
  }
  const database = readDatabase(flags.database, env)
  if (database === undefined) {
    throw usage('--peer-url is for --database', `add --database, or set ${databaseVariable}`)
  }
  if (accounts === undefined) {
    throw usage('--database is for --accept-joins', 'add --aggregate --accept-joins URL')
  }
  const parsed = parseAccountsUrl(peerUrl)
  if (!parsed.ok) throw usage('--peer-url is not an address', 'write it as https://10.0.0.7:9765')
  return { database, peerUrl: parsed.value.url }
}
