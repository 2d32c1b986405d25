import * as Flags from '@oclif/core/flags'
import { usage } from '../../../lib/util/errors.ts'
import { AdminCommand, userArg } from '../admin-command.ts'

export default class RegistryUsersSet extends AdminCommand {
  static override summary = 'Set the team or the email address of an account'
  static override description = `At a gateway, users of a team see the instances that their owners share \
with it. The change takes effect within 5 seconds.`
  static override examples = ['<%= config.bin %> registry users set alice --team fx']
  static override args = userArg

  static override flags = {
    team: Flags.string({ description: 'new team; empty: none', helpValue: 'TEAM' }),
    email: Flags.string({ description: 'new email address', helpValue: 'EMAIL' }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersSet)
    const { team, email } = flags
    if (team === undefined && email === undefined) {
      throw usage('nothing to change', 'give --team or --email')
    }
    await this.administer(flags, async (admin, output) => {
      const done = await admin.setUser(args.user, { team: team === '' ? null : team, email })
      await output.result('', done)
      const where = done.team === null ? 'no team' : `team ${done.team}`
      output.note(`"${done.username}" is in ${where} and has the address ${done.email}`)
    })
  }
}
