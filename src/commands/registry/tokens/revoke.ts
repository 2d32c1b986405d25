import * as Args from '@oclif/core/args'
import { cleanText } from '../../../lib/util/text.ts'
import { AdminCommand, administer } from '../admin-command.ts'

/** Ends a service token. */
export default class RegistryTokensRevoke extends AdminCommand {
  static override summary = 'Revoke a service token'

  static override usage = 'registry tokens revoke ID [FLAGS]'

  static override description = 'The token is refused from the next request on.'

  static override examples = [
    {
      description: 'by its id',
      command: '<%= config.bin %> registry tokens revoke 019aa3c4-77d1-7c0e-9d1b-3f1f4a3c2b10',
    },
  ]

  static override args = {
    id: Args.string({ ignoreStdin: true, description: 'id of the token', required: true }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryTokensRevoke)
    await administer(flags, async ({ admin, operations, output }) => {
      const done = await operations.revokeToken(admin, args.id)
      await output.result('', done)
      output.note(`token "${cleanText(done.name)}" of "${done.username}" is revoked`)
    })
  }
}
