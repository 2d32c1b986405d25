import * as Args from '@oclif/core/args'
import { AdminCommand } from '../admin-command.ts'

export default class RegistryUsersAdd extends AdminCommand {
  static override summary = 'Create an invitation code for a new user'

  static override description = `Prints the code alone on stdout: give it to the user. It is valid \
once, for 7 days and for this user name. The user runs service-cli register NAME, which asks for it \
when registration needs one. A server with --registration closed takes no code. An earlier code of \
the name stops working.`

  static override examples = ['<%= config.bin %> registry users add alice']

  static override args = {
    user: Args.string({
      ignoreStdin: true,
      description: 'user name of the new account',
      required: true,
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersAdd)
    await this.administer(flags, async (admin, output) => {
      const made = await admin.addUser(args.user)
      const { username, expires_at: end } = made
      output.note(`code of "${username}", valid once until ${end}; it is not shown again`)
      output.note(`the user runs: service-cli register ${username}`)
      await output.result(made.code, made)
    })
  }
}
