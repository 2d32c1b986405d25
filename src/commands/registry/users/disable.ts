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
      output.note(`the account "${done.username}" is disabled; ${endedText(done)}`)
    })
  }
}

/** `2 logins and 1 service token ended`. */
export function endedText(done: { ended_sessions: number; ended_tokens: unknown[] }): string {
  const { ended_sessions: sessions, ended_tokens: tokens } = done
  return `${counted(sessions, 'login')} and ${counted(tokens.length, 'service token')} ended`
}
