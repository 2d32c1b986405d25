import { columns } from '../../../lib/cli/format.ts'
import { AdminCommand } from '../admin-command.ts'

export default class RegistryUsersList extends AdminCommand {
  static override summary = 'List the accounts'
  static override examples = ['<%= config.bin %> registry users list']

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
