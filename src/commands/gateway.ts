import type { Interfaces } from '@oclif/core'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { requireAccountsUrl } from '../lib/config/accounts-url.ts'
import { usage } from '../lib/util/errors.ts'
import type { GatewayOptions } from '../server/gateway.ts'
import { type AuthMode, authModes, openWarning } from './auth-flags.ts'
import { defaultPorts } from './default-ports.ts'
import { checkPath } from './path-flags.ts'
import { type McpServerFlags, mcpServerFlags, readMcpServerSettings } from './server-flags.ts'
import { clientText, dirFlag, labelled, pageText, type Shown } from '../lib/cli/banner.ts'
import { paint } from '../lib/cli/output.ts'
import { runServer } from './run-server.ts'

export default class Gateway extends BaseCommand {
  static override summary = 'List all instances of this machine for AI clients at one address'
  static override usage = 'gateway [FLAGS]'
  static override description = `Lists your running instances, their state and their addresses as MCP \
resources on /mcp, and notifies clients of changes. Listens only on this machine by default; see \
--host.

One gateway is active on a port. Others stand by and take over within seconds when it ends, even \
after a crash. The log reports this, and --json prints a line.`
  static override examples = [
    '<%= config.bin %> gateway',
    '<%= config.bin %> gateway --no-standby --json',
    '<%= config.bin %> gateway --aggregate',
    '<%= config.bin %> gateway --aggregate --accept-joins https://registry.example.com',
    '<%= config.bin %> serve --gateway',
  ]

  static override flags = {
    ...mcpServerFlags(defaultPorts.gateway),
    catalog: Flags.string({
      description: 'file that replaces the built-in catalog of adapters and packages',
      helpValue: 'FILE',
    }),
    'no-standby': Flags.boolean({
      description: 'exit with 1 when another gateway is active, instead of standing by',
    }),
    'accept-joins': Flags.string({
      description: 'let instances join with tokens of this accounts server (--aggregate)',
      helpValue: 'URL',
    }),
    auth: Flags.option({ options: [...authModes, 'accounts'] as const })({
      description: 'none, api-key, oauth or accounts (users of --accept-joins see what is theirs)',
      helpValue: 'MODE',
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Gateway)
    const settings = await readGatewaySettings(flags, process.env)
    await runServer(
      {
        settings,
        warning: openWarning(settings, process.env),
        async start(options, cancelled, say) {
          const { startGateway } = await import('../server/gateway.ts')
          const onElection = ({ event, ...facts }: { event: string }) =>
            say({ event, pid: process.pid, ...facts })
          return startGateway({ ...options, onElection }, cancelled)
        },
        listening: ({ url, instanceId, registryDir }) => ({
          url,
          instance_id: instanceId,
          registry_dir: registryDir,
        }),
        banner: ({ url, registryDir, pageLogin }, shown) => {
          const acceptsJoins = settings.acceptJoins !== undefined
          return renderGatewayBanner({
            url,
            registryDir,
            namedDir: settings.registryDir,
            acceptsJoins,
            page: pageLogin(),
            ...shown,
          })
        },
      },
      flags,
    )
  }
}

/** The flags of `gateway` as the parser returns them. */
export type GatewayFlags = McpServerFlags & Partial<Interfaces.InferredFlags<typeof Gateway.flags>>

export type GatewaySettings = Omit<GatewayOptions, 'log' | 'accessLog' | 'onElection'>

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
  if (!flags.aggregate) throw usage('--accept-joins is for --aggregate', 'add --aggregate')
  if (mode === 'none' && flags.auth !== 'none') {
    throw usage(
      '--accept-joins would let every user of this machine read the instances that join',
      'make a key with service-cli keys create; or add --auth none if all users may read them',
    )
  }
  return requireAccountsUrl(accounts, '--accept-joins')
}

export interface GatewayBannerFacts extends Shown {
  readonly page: string | null
  readonly registryDir: string
  /** Instances of other machines can join. */
  readonly acceptsJoins: boolean
}

/** The banner of `gateway`. */
export function renderGatewayBanner(facts: GatewayBannerFacts): string {
  const { url, registryDir, acceptsJoins, page, colour } = facts
  const joins = acceptsJoins ? '\n              and those that join with serve --join' : ''
  return `
${labelled('Gateway', url, colour)}
${pageText(page, colour)}\
${labelled('Instances', `those of ${registryDir}`, colour)}${joins}

${clientText(facts, ' --gateway')}

${paint(colour, 'bold', 'See what runs')}
  service-cli instances${dirFlag(facts)}

Ctrl-C stops.

`
}
