import { counted } from '../../../lib/util/amounts.ts'
import { AdminCommand, administer, userArg } from '../admin-command.ts'

/** Ends every session of an account. */
export default class RegistrySessionsEnd extends AdminCommand {
  static override summary = 'End every login of an account'

  static override description = `Its access and refresh tokens are refused from the next \
request on. Service tokens stay valid: see \`registry tokens revoke\`.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry sessions end alice' },
  ]

  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistrySessionsEnd)
    await administer(flags, async ({ admin, operations, output }) => {
      const done = await operations.endSessions(admin, args.user)
      await output.result('', done)
      output.note(`ended ${counted(done.ended, 'session')} of "${done.username}"`)
    })
  }
}
