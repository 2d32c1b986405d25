import { counted } from '../../../lib/util/amounts.ts'
import { AdminCommand, userArg } from '../admin-command.ts'

export default class RegistryUsersDisable extends AdminCommand {
  static override summary = 'Disable an account'

  static override description = `Ends every login and service token of the account, and refuses its \
password until the account is enabled again.`

  static override examples = ['<%= config.bin %> registry users disable alice']

  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersDisable)
    await this.administer(flags, async (admin, output) => {
      const done = await admin.disableUser(args.user)
      await output.result('', done)
      const { username, ended_sessions: sessions, ended_tokens: tokens } = done
      const ended = `${counted(sessions, 'login')} and ${counted(tokens.length, 'service token')} ended`
      output.note(`the account "${username}" is disabled; ${ended}`)
    })
  }
}
