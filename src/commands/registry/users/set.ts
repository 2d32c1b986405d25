import * as Flags from '@oclif/core/flags'
import { AdminCommand, administer, userArg } from '../admin-command.ts'

/** Changes an account. */
export default class RegistryUsersSet extends AdminCommand {
  static override summary = 'Set the team of an account'

  static override description = `At a gateway, users of a team see the instances that their \
owners share with it. A user is in one team at most. The change takes effect within 5 seconds.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users set alice --team fx' },
    {
      description: 'in no team any more',
      command: '<%= config.bin %> registry users set alice --team ""',
    },
  ]

  static override args = userArg

  static override flags = {
    team: Flags.string({
      description: 'name of the team; empty removes the account from its team',
      helpValue: 'TEAM',
      required: true,
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersSet)
    await administer(flags, async ({ admin, operations, output }) => {
      const done = await operations.setTeam(admin, args.user, flags.team || null)
      const { username, team } = done
      await output.result('', done)
      output.note(
        team === null ? `"${username}" is in no team` : `"${username}" is in team ${team}`,
      )
    })
  }
}
