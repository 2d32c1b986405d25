import { columns } from '../../../lib/cli/format.ts'
import { AdminCommand, administer, userArg } from '../admin-command.ts'

/** Shows one account. */
export default class RegistryUsersShow extends AdminCommand {
  static override summary = 'Show an account with its sessions and tokens'

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> registry users show alice' },
    {
      description: 'by email address',
      command: '<%= config.bin %> registry users show alice@studio.example',
    },
  ]

  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersShow)
    await administer(flags, async ({ admin, operations, output }) => {
      const user = await operations.showUser(admin, args.user)
      const { sessions, tokens, ...facts } = user
      const rows = Object.entries(facts).map(([name, value]) => [name, String(value ?? '-')])
      const text = [
        columns(['account', ''], rows),
        columns(
          ['session', 'created', 'expires', 'address', 'client'],
          sessions.map(session => [
            session.id,
            session.created_at,
            session.expires_at,
            session.address ?? '',
            session.user_agent ?? '',
          ]),
          { drop: ['client', 'created', 'address'] },
        ),
        columns(
          ['token', 'name', 'scopes', 'expires', 'last used'],
          tokens.map(token => [
            token.id,
            token.name,
            token.scopes.join(' '),
            token.expires_at,
            token.last_used_at ?? '',
          ]),
          { drop: ['last used', 'scopes', 'expires'] },
        ),
      ]
      await output.result(text.join('\n\n'), user)
    })
  }
}
