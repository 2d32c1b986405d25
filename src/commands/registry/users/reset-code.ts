import { cleanText } from '../../../lib/util/text.ts'
import { AdminCommand, userArg } from '../admin-command.ts'
import { endedText } from './disable.ts'

export default class RegistryUsersResetCode extends AdminCommand {
  static override summary = 'Create a code for a lost password'
  static override description = `Prints the code alone on stdout. It is valid once, for an hour, and \
replaces an earlier one. Ends every login and service token of the account at once.`
  static override examples = ['<%= config.bin %> registry users reset-code alice']
  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersResetCode)
    await this.administer(flags, async (admin, output) => {
      const made = await admin.makeResetCode(args.user)
      output.note(`code of "${made.username}", valid once until ${made.expires_at}`)
      output.note(`the user runs: service-cli password ${made.username} --code`)
      output.note(endedText(made))
      for (const { id, name } of made.ended_tokens) {
        output.note(`service token "${cleanText(name)}" (${id})`)
      }
      await output.result(made.code, made)
    })
  }
}
