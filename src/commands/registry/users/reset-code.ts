import { Args, Flags } from '@oclif/core'
import { adminLimits } from '../../../server/accounts/admin-limits.ts'
import { AdminCommand, adminPlace, administer, bounds } from '../admin-command.ts'

/** Makes a code for a lost password. */
export default class RegistryUsersResetCode extends AdminCommand {
  static override summary = 'make a code for a lost password'

  static override description = `Prints the code, alone, on stdout: give it to the person it is \
for. With it, once, a new password is set: POST /api/v1/auth/reset with username, code and \
new_password. An earlier code of the account stops working.`

  static override examples = [
    { description: 'for an hour', command: '<%= config.bin %> registry users reset-code alice' },
    {
      description: 'for ten minutes',
      command: '<%= config.bin %> registry users reset-code alice --minutes 10',
    },
  ]

  static override args = {
    user: Args.string({
      ignoreStdin: true,
      description: 'user name or email address',
      required: true,
    }),
  }

  static override flags = {
    minutes: Flags.integer({
      description: 'how long the code is good',
      helpValue: 'MINUTES',
      ...bounds(adminLimits.resetCodeMinutes),
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersResetCode)
    const place = adminPlace(flags)
    const { code, ...made } = await administer(place, async admin => {
      const { makeResetCode } = await import('../../../server/accounts/admin/codes.ts')
      return makeResetCode(admin, args.user, flags.minutes)
    })
    const { username, expires_at: end } = made
    place.output.note(`reset code of "${username}", good once until ${end}; shown this once`)
    // Opened here alone: this is what the command is for.
    place.output.result(code.reveal(), { ...made, code: code.reveal() })
  }
}
