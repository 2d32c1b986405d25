import * as Flags from '@oclif/core/flags'
import { showOnce } from '../../lib/cli/show-once.ts'
import { adminLimits } from '../../server/accounts/admin-limits.ts'
import { AdminCommand, adminPlace, administer, bounds } from './admin-command.ts'

/** Makes an invitation for one new account. */
export default class RegistryInvite extends AdminCommand {
  static override summary = 'make an invitation for one new account'

  static override description = `Prints the code, alone, on stdout. \`service-cli register\` \
asks for it where registration is by invitation; it is valid once.`

  static override examples = [
    { description: 'for a week', command: '<%= config.bin %> registry invite' },
    { description: 'for a day', command: '<%= config.bin %> registry invite --days 1' },
  ]

  static override flags = {
    days: Flags.integer({
      description: 'how long it is good',
      helpValue: 'DAYS',
      ...bounds(adminLimits.inviteDays),
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryInvite)
    const place = adminPlace(flags)
    await administer(place, async admin => {
      const { revokeInvite, makeInvite } = await import('../../server/accounts/admin/codes.ts')
      const { code, ...made } = await makeInvite(admin, flags.days)
      place.output.note(`invitation, valid once until ${made.expires_at}; it is not shown again`)
      // Revealed here alone: this is what the command is for.
      const json = { ...made, code: code.reveal() }
      await showOnce(() => place.output.secret(code.reveal(), json), {
        what: 'invitation',
        leftOver: `it expires at ${made.expires_at}`,
        run: () => revokeInvite(admin, code),
      })
    })
  }
}
