import * as Args from '@oclif/core/args'
import { AdminCommand, adminPlace, administer } from '../admin-command.ts'

/** Disables an account. */
export default class RegistryUsersDisable extends AdminCommand {
  static override summary = 'disable an account'

  static override description = `The next request with any password, session or token of the \
account is refused. Nothing of it is removed: when it is enabled again, what has not expired \
works again. End its sessions with \`registry sessions end\` if they must not.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users disable alice' },
  ]

  static override args = {
    user: Args.string({
      ignoreStdin: true,
      description: 'user name or email address',
      required: true,
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersDisable)
    const place = adminPlace(flags)
    const done = await administer(place, async admin => {
      const { setUserDisabled } = await import('../../../server/accounts/admin/users.ts')
      return setUserDisabled(admin, args.user, true)
    })
    const { username, changed } = done
    await place.output.result('', done)
    place.output.note(
      changed
        ? `the account "${username}" is disabled; until it is enabled again no password, session or token of it works`
        : `the account "${username}" was disabled already`,
    )
  }
}
