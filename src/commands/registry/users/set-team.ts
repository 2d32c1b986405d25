import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { usage } from '../../../lib/util/errors.ts'
import { AdminCommand, administer, userArg } from '../admin-command.ts'

/** Sets the team of an account. */
export default class RegistryUsersSetTeam extends AdminCommand {
  static override summary = 'Set the team of an account'

  static override usage = 'registry users set-team USER [TEAM] [FLAGS]'

  static override description = `At a gateway, users of a team see the instances that their \
owners share with it. A user is in one team at most. The change takes effect within 5 seconds.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users set-team alice fx' },
    {
      description: 'in no team any more',
      command: '<%= config.bin %> registry users set-team alice --none',
    },
  ]

  static override args = {
    ...userArg,
    team: Args.string({ ignoreStdin: true, description: 'name of the team' }),
  }

  static override flags = {
    none: Flags.boolean({ description: 'remove the account from its team', default: false }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersSetTeam)
    if ((args.team === undefined) !== flags.none) {
      throw usage('name the team, or remove the account from its team with --none')
    }
    await administer(flags, async ({ admin, operations, output }) => {
      const done = await operations.setTeam(admin, args.user, args.team ?? null)
      const { username, team } = done
      await output.result('', done)
      output.note(
        team === null ? `"${username}" is in no team` : `"${username}" is in team ${team}`,
      )
    })
  }
}
