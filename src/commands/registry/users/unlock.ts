import { counted } from '../../../lib/util/amounts.ts'
import { AdminCommand, administer, userArg } from '../admin-command.ts'

/** Forgets the failed logins of an account. */
export default class RegistryUsersUnlock extends AdminCommand {
  static override summary = 'Clear the failed logins of an account'

  static override description = `After too many failed logins, further ones must wait up to 15 minutes. \
This command clears the failed logins of the account, from every address.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users unlock alice' },
  ]

  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersUnlock)
    await administer(flags, async ({ admin, operations, output }) => {
      const done = await operations.unlockUser(admin, args.user)
      await output.result('', done)
      const { username, failed_logins: count } = done
      output.note(`forgot ${counted(count, 'failed login')} of "${username}"`)
    })
  }
}
