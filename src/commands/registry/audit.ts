import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { columns } from '../../lib/cli/format.ts'
import { isUuid } from '../../lib/util/text.ts'
import { toRfc3339 } from '../../lib/util/time.ts'
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
      const { user } = args
      // A deleted account has only its id.
      const accountId = user === undefined || isUuid(user) ? user : (await admin.findUser(user)).id
      const found = await admin.store.listAudit({ limit: flags.limit, accountId })
      const entries = found.map(({ atMs, accountId: account_id, ...entry }) => ({
        timestamp: toRfc3339(atMs),
        account_id,
        ...entry,
      }))
      const rows = entries.map(entry => [
        entry.timestamp,
        entry.action,
        entry.username ?? entry.account_id ?? '',
        entry.address ?? '',
        JSON.stringify(entry.details),
      ])
      await output.result(columns(['TIME', 'ACTION', 'USER', 'ADDRESS', 'DETAILS'], rows), {
        entries,
      })
    })
  }
}
