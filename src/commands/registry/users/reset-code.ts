import { counted } from '../../../lib/util/amounts.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { AdminCommand, administer, userArg } from '../admin-command.ts'

/** Makes a code for a lost password. */
export default class RegistryUsersResetCode extends AdminCommand {
  static override summary = 'Create a code for a lost password'

  static override description = `Prints the code alone on stdout: give it to the user. It is valid once, for an hour. The user \
runs service-cli password NAME --code, which asks for the code and a new password. \
That ends every login and service token of the account; the output lists them. An earlier code of \
the account stops working.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users reset-code alice' },
  ]

  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersResetCode)
    await administer(flags, async ({ admin, operations, output }) => {
      const { code, ...made } = await operations.makeResetCode(admin, args.user)
      const { username, expires_at: end, ends } = made
      output.note(`reset code of "${username}", valid once until ${end}; it is not shown again`)
      output.note(`the user runs: service-cli password ${username} --code`)
      const what = `${counted(ends.sessions, 'login')} and ${counted(ends.tokens.length, 'service token')}`
      output.note(`using it ends ${what}`)
      for (const token of ends.tokens) {
        output.note(`service token "${cleanText(token.name)}" (${token.id})`)
      }
      const json = { ...made, code: code.reveal() }
      await output.secret(code.reveal(), json)
    })
  }
}
