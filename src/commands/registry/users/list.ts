import { columns } from '../../../lib/cli/format.ts'
import { AdminCommand } from '../admin-command.ts'

export default class RegistryUsersList extends AdminCommand {
  static override summary = 'List the accounts'

  static override description = `Shows name, email address, team, state and age of each, in the \
order of the names.`

  static override examples = [
    { description: 'of the default folder', command: '<%= config.bin %> registry users list' },
    {
      description: 'of another folder, for a script',
      command: '<%= config.bin %> registry users list --data-dir /srv/registry --json',
    },
  ]

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryUsersList)
    await this.administer(flags, async (admin, output) => {
      const list = await admin.listUsers()
      const rows = list.users.map(user => [
        user.username,
        user.email,
        user.team ?? '',
        user.disabled_at === null ? 'enabled' : 'disabled',
        user.created_at,
      ])
      await output.result(columns(['NAME', 'EMAIL', 'TEAM', 'STATE', 'CREATED'], rows), list)
    })
  }
}
