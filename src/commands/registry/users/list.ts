import * as Flags from '@oclif/core/flags'
import { columns } from '../../../lib/cli/format.ts'
import { AdminCommand, administer, limitFlag } from '../admin-command.ts'

/** Lists the accounts. */
export default class RegistryUsersList extends AdminCommand {
  static override summary = 'List the accounts'

  static override description = `Shows name, email address, team, state and age of each, in the \
order of the names.`

  static override examples = [
    { description: 'all of them', command: '<%= config.bin %> registry users list' },
    {
      description: 'of another folder, for a script',
      command: '<%= config.bin %> registry users list --data-dir /srv/registry --json',
    },
  ]

  static override flags = {
    limit: limitFlag,
    after: Flags.string({ description: 'start after this name', helpValue: 'NAME' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryUsersList)
    await administer(flags, async ({ admin, operations, output }) => {
      const list = await operations.listUsers(admin, flags)
      const rows = list.users.map(user => [
        user.username,
        user.email,
        user.team ?? '',
        user.disabled_at === null ? user.login : 'disabled',
        user.created_at,
      ])
      await output.result(columns(['NAME', 'EMAIL', 'TEAM', 'LOGIN', 'CREATED'], rows), list)
      const last = list.users.at(-1)
      if (list.more && last !== undefined) output.note(`there are more: --after ${last.username}`)
    })
  }
}
