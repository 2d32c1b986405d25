import * as Args from '@oclif/core/args'
import { AdminCommand } from '../admin-command.ts'

export default class RegistryUsersAdd extends AdminCommand {
  static override summary = 'Create an invitation code for a new user'
  static override description = `Prints the code alone on stdout. It is valid once, for 7 days and for \
this user name, and replaces an earlier one. A server with --registration closed takes no code.`
  static override examples = ['<%= config.bin %> registry users add alice']

  static override args = {
    user: Args.string({ ignoreStdin: true, description: 'the new user name', required: true }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersAdd)
    await this.administer(flags, async (admin, output) => {
      const made = await admin.addUser(args.user)
      output.note(`code of "${made.username}", valid once until ${made.expires_at}`)
      output.note(`the user runs: service-cli register ${made.username}`)
      await output.result(made.code, made)
    })
  }
}
