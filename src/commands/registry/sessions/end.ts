import * as Args from '@oclif/core/args'
import { counted } from '../../../lib/cli/format.ts'
import { AdminCommand, adminPlace, administer } from '../admin-command.ts'

/** Ends every session of an account. */
export default class RegistrySessionsEnd extends AdminCommand {
  static override summary = 'end every login of an account'

  static override description = `Its access and refresh tokens are refused from the next \
request on. Service tokens go on: see \`registry tokens revoke\`.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry sessions end alice' },
  ]

  static override args = {
    user: Args.string({
      ignoreStdin: true,
      description: 'user name or email address',
      required: true,
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistrySessionsEnd)
    const place = adminPlace(flags)
    const done = await administer(place, async admin => {
      const { endSessions } = await import('../../../server/accounts/admin/tokens.ts')
      return endSessions(admin, args.user)
    })
    await place.output.result('', done)
    place.output.note(`ended ${counted(done.ended, 'session')} of "${done.username}"`)
  }
}
