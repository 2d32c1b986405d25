import { counted } from '../../../lib/util/amounts.ts'
import { AdminCommand, administer, userArg } from '../admin-command.ts'

/** Disables an account. */
export default class RegistryUsersDisable extends AdminCommand {
  static override summary = 'Disable an account'

  static override description = `Ends every login and service token of the account, and refuses its \
password until the account is enabled again.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users disable alice' },
  ]

  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersDisable)
    await administer(flags, async ({ admin, operations, output }) => {
      const done = await operations.disableUser(admin, args.user)
      const { username, changed, ended_sessions: sessions, ended_tokens: tokens } = done
      await output.result('', done)
      const ended = `${counted(sessions, 'login')} and ${counted(tokens, 'service token')} ended`
      output.note(
        changed
          ? `the account "${username}" is disabled; ${ended}`
          : `the account "${username}" was disabled already`,
      )
    })
  }
}
