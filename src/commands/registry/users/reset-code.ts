import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { counted } from '../../../lib/cli/columns.ts'
import type { Secret } from '../../../lib/secret.ts'
import { adminLimits } from '../../../server/accounts/admin-limits.ts'
import { AdminCommand, adminPlace, administer, bounds } from '../admin-command.ts'

/** Makes a code for a lost password. */
export default class RegistryUsersResetCode extends AdminCommand {
  static override summary = 'make a code for a lost password'

  static override description = `Prints the code, alone, on stdout: give it to the person it is \
for. With it, once, they set a new password: service-cli password NAME --reset-code CODE. That ends \
every login and service token of the account; the output lists them. An earlier code of the account \
stops working.`

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
    const { username, expires_at: end, ends } = made
    place.output.note(`reset code of "${username}", good once until ${end}; shown this once`)
    place.output.note(
      `to be run by them: service-cli password ${username} --reset-code ${onScreen(code)}`,
    )
    const what = `${counted(ends.sessions, 'login')} and ${counted(ends.tokens.length, 'service token')}`
    place.output.note(`using it ends ${what}; --keep-tokens there keeps the tokens`)
    for (const { id, name } of ends.tokens) place.output.note(`service token "${name}" (${id})`)
    // Opened here alone: this is what the command is for.
    place.output.result(code.reveal(), { ...made, code: code.reveal() })
  }
}

/** The code itself where it appears anyway: a stderr that goes to a log must not have it. */
function onScreen(code: Secret): string {
  const { stdout, stderr } = process
  return stdout.isTTY === true && stderr.isTTY === true ? code.reveal() : 'CODE'
}
