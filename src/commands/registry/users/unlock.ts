import * as Args from '@oclif/core/args'
import { counted } from '../../../lib/cli/format.ts'
import { AdminCommand, adminPlace, administer } from '../admin-command.ts'

/** Forgets the failed logins of an account. */
export default class RegistryUsersUnlock extends AdminCommand {
  static override summary = 'let an account try its password again'

  static override description = `After too many failed logins further ones have to wait, up to 15 minutes. \
This forgets the failed logins of the account, from every address.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users unlock alice' },
  ]

  static override args = {
    user: Args.string({
      ignoreStdin: true,
      description: 'user name or email address',
      required: true,
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersUnlock)
    const place = adminPlace(flags)
    const done = await administer(place, async admin => {
      const { unlockUser } = await import('../../../server/accounts/admin/users.ts')
      return unlockUser(admin, args.user)
    })
    await place.output.result('', done)
    const { username, failed_logins: count } = done
    place.output.note(`forgot ${counted(count, 'failed login')} of "${username}"`)
  }
}
