import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { registrationModes } from '../../lib/accounts/protocol.ts'
import { defaultPorts } from '../default-ports.ts'
import { databaseFlag } from '../database-flag.ts'
import { addressFlags, runFlags } from '../server-flags.ts'
import { readAccountsSettings } from './settings.ts'

/** Runs the accounts server until a signal ends it. */
export default class Registry extends BaseCommand {
  static override summary = 'Run an accounts server for a studio'

  static override usage = 'registry [FLAGS]'

  static override description = `Serves the accounts API below /api/v1/auth and creates its database \
at the first start. Listens only on this machine by default. With another --host, new accounts \
need an invitation, and commonly guessed passwords are refused.`

  static override examples = [
    { description: 'start with the defaults', command: '<%= config.bin %> registry' },
    {
      description: 'behind a proxy with TLS',
      command: '<%= config.bin %> registry --public-url https://registry.studio.example',
    },
    {
      description: 'one of several on a PostgreSQL database',
      command:
        'SERVICE_DATABASE_URL=postgres://registry:…@db.studio.example/studio <%= config.bin %> registry',
    },
    {
      description: 'start from a script: a free port, one JSON line when it listens',
      command: '<%= config.bin %> registry --port 0 --json',
    },
  ]

  static override flags = {
    ...addressFlags({
      port: defaultPorts.registry,
      server: 'accounts server',
      publicUrl: 'address that clients use, if different; also the issuer',
    }),
    'data-dir': Flags.string({
      description: 'folder of the database and the keys',
      helpValue: 'DIR',
    }),
    ...databaseFlag,
    registration: Flags.option({ options: registrationModes })({
      description: 'open, invite or closed [default: open on this machine, else invite]',
      helpValue: 'MODE',
    }),
    ...runFlags('accessTokenMs=3600000'),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Registry)
    const settings = readAccountsSettings(flags, process.env)
    // Loaded only now: help and usage errors need neither the log nor the server.
    const { runAccountsServer } = await import('./run.ts')
    await runAccountsServer(settings, flags)
  }
}
