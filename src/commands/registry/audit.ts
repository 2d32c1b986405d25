import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { columns } from '../../lib/cli/format.ts'
import { AdminCommand } from './admin-command.ts'

export default class RegistryAudit extends AdminCommand {
  static override summary = 'Show what was done to accounts, newest first'
  static override examples = ['<%= config.bin %> registry audit alice --limit 50']

  static override args = {
    user: Args.string({ ignoreStdin: true, description: 'user name, email address or id' }),
  }

  static override flags = {
    limit: Flags.integer({ description: 'number of rows', default: 1000, min: 1, max: 100_000 }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryAudit)
    await this.administer(flags, async (admin, output) => {
      const list = await admin.readAudit({ name: args.user, limit: flags.limit })
      const rows = list.entries.map(entry => [
        entry.timestamp,
        entry.action,
        entry.username ?? entry.account_id ?? '',
        entry.address ?? '',
        JSON.stringify(entry.details),
      ])
      await output.result(columns(['TIME', 'ACTION', 'USER', 'ADDRESS', 'DETAILS'], rows), list)
    })
  }
}
