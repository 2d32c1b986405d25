import { counted } from '../../../lib/util/amounts.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { AdminCommand, userArg } from '../admin-command.ts'

export default class RegistryUsersResetCode extends AdminCommand {
  static override summary = 'Create a code for a lost password'

  static override description = `Prints the code alone on stdout: give it to the user. It is valid \
once, for an hour. The user runs service-cli password NAME --code, which asks for the code and a new \
password. Ends every login and service token of the account at once and lists the tokens. An earlier \
code of the account stops working.`

  static override examples = ['<%= config.bin %> registry users reset-code alice']

  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersResetCode)
    await this.administer(flags, async (admin, output) => {
      const made = await admin.makeResetCode(args.user)
      const { username, expires_at: end, ended_sessions: sessions, ended_tokens: tokens } = made
      output.note(`code of "${username}", valid once until ${end}; it is not shown again`)
      output.note(`the user runs: service-cli password ${username} --code`)
      output.note(
        `${counted(sessions, 'login')} and ${counted(tokens.length, 'service token')} ended`,
      )
      for (const { id, name } of tokens) output.note(`service token "${cleanText(name)}" (${id})`)
      await output.result(made.code, made)
    })
  }
}
