import * as Flags from '@oclif/core/flags'
import { showOnce } from '../../lib/cli/show-once.ts'
import { adminLimits } from '../../server/accounts/admin-limits.ts'
import { AdminCommand, administer, bounds } from './admin-command.ts'

/** Makes an invitation for one new account. */
export default class RegistryInvite extends AdminCommand {
  static override summary = 'Create an invitation for one new account'

  static override description = `Prints the code alone on stdout. \`service-cli register\` \
prompts for it when registration needs an invitation. The code is valid once.`

  static override examples = [
    { description: 'for a week', command: '<%= config.bin %> registry invite' },
    { description: 'for a day', command: '<%= config.bin %> registry invite --days 1' },
  ]

  static override flags = {
    days: Flags.integer({
      description: 'days until the invitation expires',
      helpValue: 'DAYS',
      ...bounds(adminLimits.inviteDays),
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryInvite)
    await administer(flags, async ({ admin, operations, output }) => {
      const { code, ...made } = await operations.makeInvite(admin, flags.days)
      output.note(`invitation, valid once until ${made.expires_at}; it is not shown again`)
      output.note('give it to the new user: service-cli register asks for it')
      const json = { ...made, code: code.reveal() }
      await showOnce(() => output.secret(code.reveal(), json), {
        what: 'invitation',
        leftOver: `it expires at ${made.expires_at}`,
        run: () => operations.revokeInvite(admin, code),
      })
    })
  }
}
