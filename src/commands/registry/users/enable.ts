import * as Args from '@oclif/core/args'
import { AdminCommand, adminPlace, administer } from '../admin-command.ts'

/** Enables an account. */
export default class RegistryUsersEnable extends AdminCommand {
  static override summary = 'enable an account'

  static override description = `Its password, and what has not expired of its sessions and \
tokens, works again.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users enable alice' },
  ]

  static override args = {
    user: Args.string({
      ignoreStdin: true,
      description: 'user name or email address',
      required: true,
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersEnable)
    const place = adminPlace(flags)
    const done = await administer(place, async admin => {
      const { setUserDisabled } = await import('../../../server/accounts/admin/users.ts')
      return setUserDisabled(admin, args.user, false)
    })
    const { username, changed } = done
    await place.output.result('', done)
    place.output.note(
      changed
        ? `the account "${username}" is enabled`
        : `the account "${username}" was enabled already`,
    )
  }
}
