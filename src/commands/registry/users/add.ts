import * as Args from '@oclif/core/args'
import { AdminCommand, administer } from '../admin-command.ts'

/** Makes a code with which a new user registers. */
export default class RegistryUsersAdd extends AdminCommand {
  static override summary = 'Create an invitation code for a new user'

  static override description = `Prints the code alone on stdout: give it to the user. It is valid \
once, for 7 days and for this user name. The user runs service-cli register NAME, which asks for it \
when registration needs one. A server with --registration closed takes no code. An earlier code of \
the name stops working.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users add alice' },
  ]

  static override args = {
    user: Args.string({
      ignoreStdin: true,
      description: 'user name of the new account',
      required: true,
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersAdd)
    await administer(flags, async ({ admin, operations, output }) => {
      const { code, ...made } = await operations.makeInvite(admin, args.user)
      const { username, expires_at: end } = made
      output.note(
        `invitation code of "${username}", valid once until ${end}; it is not shown again`,
      )
      output.note(`the user runs: service-cli register ${username}`)
      await output.secret(code.reveal(), { ...made, code: code.reveal() })
    })
  }
}
