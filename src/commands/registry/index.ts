import * as Flags from '@oclif/core/flags'
import { type RegistrationMode, registrationModes } from '../../lib/accounts/protocol.ts'
import { labelled, type Shown } from '../../lib/cli/banner.ts'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { paint } from '../../lib/cli/output.ts'
import { databaseName } from '../../server/database/settings.ts'
import { defaultPorts } from '../default-ports.ts'
import {
  type AddressFlags,
  addressFlags,
  readAddress,
  readLimitFlags,
  runFlags,
} from '../server-flags.ts'
import { type DataFlags, dataFlags, readDataFlags } from './admin-command.ts'

export type AccountsFlags = AddressFlags &
  DataFlags & { registration?: RegistrationMode; limit?: string[] }

/** Flags and environment as checked settings. Throws `usage_invalid` naming the flag. */
export function readAccountsSettings(flags: AccountsFlags, env: NodeJS.ProcessEnv) {
  return {
    ...readAddress(flags),
    ...readDataFlags(flags, env),
    registration: flags.registration,
    limits: readLimitFlags(flags.limit, { accessTokenMs: undefined }),
  }
}

export default class Registry extends BaseCommand {
  static override summary = 'Run an accounts server for a studio'
  static override usage = 'registry [FLAGS]'
  static override description = `Serves the accounts API below /api/v1/auth and creates its database at \
the first start. Listens only on this machine by default. With another --host, new accounts need an \
invitation, and commonly guessed passwords are refused.`
  static override examples = ['<%= config.bin %> registry']

  static override flags = {
    ...addressFlags(defaultPorts.registry),
    ...dataFlags,
    registration: Flags.option({ options: registrationModes })({
      description: 'open, invite or closed [default: open on this machine, else invite]',
      helpValue: 'MODE',
    }),
    ...runFlags,
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Registry)
    const settings = readAccountsSettings(flags, process.env)
    const { dataDir } = settings
    const database = settings.database && databaseName(settings.database)
    // Loaded only now: help and usage errors need neither the log nor the server.
    const { runServer } = await import('../run-server.ts')
    const { startAccountsServer } = await import('../../server/accounts/accounts-server.ts')
    await runServer(
      {
        settings,
        async start(options, cancelled) {
          const handle = await startAccountsServer(options, cancelled)
          if (!handle.local && new URL(handle.url).protocol === 'http:') {
            const advice = 'use --tls-cert and --tls-key, or a proxy with TLS and --public-url'
            options.log.warn({}, `passwords and tokens cross the network unencrypted: ${advice}`)
          }
          return handle
        },
        listening: ({ url, registration }) => ({ url, registration, data_dir: dataDir, database }),
        banner: ({ url, registration, local }, shown) =>
          renderAccountsBanner({ url, registration, local, dataDir, database, ...shown }),
      },
      flags,
    )
  }
}

/** `local`: only this machine can reach it; `database`: host and name, of PostgreSQL. */
export type AccountsBannerFacts = Shown & {
  registration: RegistrationMode
  local: boolean
  dataDir: string
  database?: string
}

export function renderAccountsBanner(facts: AccountsBannerFacts): string {
  const { url, registration, local, dataDir, database, colour } = facts
  const where = local ? ', on this machine' : ', here or elsewhere'
  const account = `
${paint(colour, 'bold', `Make an account${where}`)}
  export SERVICE_REGISTRY=${url}
  service-cli register
`
  return `
${labelled('Registry', url, colour)}
${labelled('Data', [dataDir, database].filter(Boolean).join(', '), colour)}
${labelled('Registration', registration, colour)}
${registration === 'closed' ? '' : account}
Ctrl-C stops.

`
}
