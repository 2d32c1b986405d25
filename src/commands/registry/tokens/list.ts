import * as Args from '@oclif/core/args'
import { columns } from '../../../lib/cli/format.ts'
import { AdminCommand, administer, limitFlag } from '../admin-command.ts'

/** Lists service tokens. */
export default class RegistryTokensList extends AdminCommand {
  static override summary = 'List the service tokens of an account, or of all'

  static override description = `Shows owner, id, name, scopes, expiry and last use. The tokens \
themselves are not stored.`

  static override examples = [
    { description: 'of all accounts', command: '<%= config.bin %> registry tokens list' },
    { description: 'of one', command: '<%= config.bin %> registry tokens list alice' },
  ]

  static override args = {
    user: Args.string({ ignoreStdin: true, description: 'user name or email address' }),
  }

  static override flags = { limit: limitFlag }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryTokensList)
    await administer(flags, async ({ admin, operations, output }) => {
      const list = await operations.listTokens(admin, { name: args.user, limit: flags.limit })
      const rows = list.tokens.map(token => [
        token.username,
        token.id,
        token.name,
        token.scopes.join(' '),
        token.expires_at,
        token.last_used_at ?? '',
      ])
      const names = ['USER', 'ID', 'NAME', 'SCOPES', 'EXPIRES', 'LAST USED']
      await output.result(columns(names, rows), list)
      if (list.more) output.note('there are more: see --limit')
    })
  }
}
