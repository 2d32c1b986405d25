import { columns } from '../../../lib/cli/format.ts'
import { rfc3339OrNull, toRfc3339 } from '../../../lib/util/time.ts'
import { AdminCommand } from '../admin-command.ts'

export default class RegistryUsersList extends AdminCommand {
  static override summary = 'List the accounts'
  static override examples = ['<%= config.bin %> registry users list']

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryUsersList)
    await this.administer(flags, async ({ store }, output) => {
      const accounts = await store.listAccounts()
      const users = accounts.map(({ id, username, email, team, createdAtMs, disabledAtMs }) => ({
        id,
        username,
        email,
        team,
        created_at: toRfc3339(createdAtMs),
        disabled_at: rfc3339OrNull(disabledAtMs),
      }))
      const rows = users.map(user => [
        user.username,
        user.email,
        user.team ?? '',
        user.disabled_at === null ? 'enabled' : 'disabled',
        user.created_at,
      ])
      await output.result(columns(['NAME', 'EMAIL', 'TEAM', 'STATE', 'CREATED'], rows), { users })
    })
  }
}
